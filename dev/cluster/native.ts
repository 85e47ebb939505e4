import { existsSync, writeFileSync } from 'node:fs';
import { command, isFulfilled, succeeds } from '../commands.ts';
import { MissingRequirement, Unhealthy } from '../errors.ts';
import { secondsSince, type Report } from '../steps.ts';
import { until } from '../wait.ts';
import { isHealthyInTime } from './late.ts';
import { chooseLayout } from './native/host.ts';
import { loadImage, loadPauseImage } from './native/images.ts';
import { fileOf } from './native/layout.ts';
import { isAlive, readRecord, toolOf, type NodeRecord } from './native/record.ts';
import { gitHostOf, healthUrlOf, registryOf } from './native/servers.ts';
import { startNode } from './native/start.ts';
import { stopNode } from './native/stop.ts';
import { ensureParts, firstNodeParts, lackForTools, partsOfExtras, toolsOfExtras, toolsOfFirst } from './parts.ts';
import type { Cluster, Extra, Provider } from './provider.ts';

const CONTROL_PLANE_PORT = 30_080;

export const native: Provider = {
  kind: 'native',

  async require() {
    const lack = await lackForTools(toolsOfFirst);
    if (lack !== undefined) throw new MissingRequirement(`Kubernetes is compiled on this machine, which needs ${lack}.`);
  },

  async up({ name, report }) {
    const started = performance.now();
    const tools = { ...(await ensureParts(firstNodeParts, report)), ...toolsOfExtras(), node: process.execPath };
    if (await stopNode(name)) report(`what was left of cluster ${name} is removed`);
    const layout = await chooseLayout(name);
    report(`starting the node at ${layout.nodeAddress}`);
    await startNode({ layout, tools });
    const record = readRecord(name) as NodeRecord;
    await becomeReady(record, report);
    report(`cluster ${name} is ready after ${secondsSince(started)}`);
    return clusterOf(record);
  },

  down: ({ name }) => stopNode(name),

  async find({ name, report }) {
    const record = readRecord(name);
    if (record === undefined || !isAlive(record.process) || !knowsExtras(record)) return undefined;
    const isHealthy = await isHealthyInTime({ name, report }, async () => (await isNodeReady(record)) && isDnsReady(record));
    return isHealthy ? clusterOf(record) : undefined;
  },
};

const clusterOf = (record: NodeRecord): Cluster => ({
  name: record.layout.name,
  kind: 'native',
  kubeconfig: fileOf(record.layout).adminKubeconfig,
  kubectl: toolOf(record, 'kubectl'),
  nodeAddress: record.layout.nodeAddress,
  controlPlanePort: CONTROL_PLANE_PORT,
  loadImage: ({ archive }) => loadImage(record, archive),
  registry: registryOf(record),
  gitHost: gitHostOf(record),
  with: (extras, report) => addExtras(record, extras, report),
});

async function becomeReady(record: NodeRecord, report: Report): Promise<void> {
  const { containerdSocket } = fileOf(record.layout);
  const steps: [string, () => Promise<boolean> | boolean][] = [
    ['containerd', () => existsSync(containerdSocket) && isFulfilled(loadPauseImage(record))],
    ['API server', () => succeeds(...kubectl(record, 'get', '--raw', '/readyz'))],
    ['node', () => isNodeReady(record)],
    ['DNS', () => isDnsReady(record)],
    // Without this account the API refuses every pod.
    ['default service account', () => succeeds(...kubectl(record, 'get', 'serviceaccount', 'default'))],
  ];
  for (const [what, ask] of steps) await ready({ record, what, report }, ask);
}

/** Builds the parts of these extras, and waits until the node runs them. */
async function addExtras(record: NodeRecord, extras: readonly Extra[], report: Report): Promise<Cluster> {
  await ensureParts(partsOfExtras(extras), report);
  const { wanted } = fileOf(record.layout);
  for (const extra of extras) writeFileSync(wanted(extra), '');
  for (const extra of extras) await ready({ record, what: extra, report }, () => isExtraReady(record, extra));
  return clusterOf(record);
}

type Awaited = { record: NodeRecord; what: string; report: Report };

async function ready({ record, what, report }: Awaited, ask: () => Promise<boolean> | boolean): Promise<void> {
  const { logFolder } = fileOf(record.layout);
  const started = performance.now();
  await until({ what: `${what} (logs: ${logFolder})`, seconds: 120 }, () => {
    if (!isAlive(record.process)) throw new Unhealthy(`The node ended; supervisor.log in ${logFolder} says why.`);
    return ask();
  });
  report(`${what}: ready (${secondsSince(started)})`);
}

/** Returns whether the node starts extras when they are wanted, and finds their tools where they are built now. */
const knowsExtras = (record: NodeRecord): boolean =>
  existsSync(fileOf(record.layout).wantedFolder) &&
  Object.entries(toolsOfExtras()).every(([tool, path]) => record.tools[tool] === path || existsSync(toolOf(record, tool)));

async function isNodeReady(record: NodeRecord): Promise<boolean> {
  const condition = '{.status.conditions[?(@.type=="Ready")].status}';
  const asked = kubectl(record, 'get', 'node', record.layout.nodeName, '-o', `jsonpath=${condition}`);
  return (await command(...asked).catch(() => '')) === 'True';
}

const isDnsReady = ({ layout }: NodeRecord): Promise<boolean> => answers(`http://${layout.nodeAddress}:8181/ready`);

function isExtraReady(record: NodeRecord, extra: Extra): Promise<boolean> {
  if (extra === 'metrics') return succeeds(...kubectl(record, 'get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes'));
  return answers(healthUrlOf(record, extra));
}

async function answers(url: string): Promise<boolean> {
  const answer = fetch(url, { signal: AbortSignal.timeout(2000) });
  return (await answer.catch(() => undefined))?.ok === true;
}

function kubectl(record: NodeRecord, ...args: string[]): [string, string[]] {
  const options = ['--kubeconfig', fileOf(record.layout).adminKubeconfig, '--request-timeout=3s'];
  return [toolOf(record, 'kubectl'), [...options, ...args]];
}
