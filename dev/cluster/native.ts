import { existsSync, writeFileSync } from 'node:fs';
import { runProcess, isFulfilled, canRun } from '../commands.ts';
import { MissingRequirement, Unhealthy } from '../errors.ts';
import { formatSecondsSince, type Report } from '../steps.ts';
import { waitUntil } from '../wait.ts';
import { isHealthyInTime } from './late.ts';
import { chooseLayout } from './native/host.ts';
import { loadImage, loadPauseImage } from './native/images.ts';
import { getStatePaths } from './native/layout.ts';
import { isAlive, readRecord, requireTool, type NodeRecord } from './native/record.ts';
import { chooseGitHost, buildHealthUrl, buildRegistryHost } from './native/servers.ts';
import { startNode } from './native/start.ts';
import { stopNode } from './native/stop.ts';
import {
  ensureParts,
  firstNodeParts,
  checkTools,
  listExtraParts,
  mapExtraTools,
  toolsOfFirst,
} from './parts.ts';
import type { Cluster, Extra, Provider } from './provider.ts';

const CONTROL_PLANE_PORT = 30_080;

export const native: Provider = {
  kind: 'native',

  async require() {
    const lack = await checkTools(toolsOfFirst);
    if (lack !== undefined)
      throw new MissingRequirement(`Kubernetes is compiled on this machine, which needs ${lack}.`);
  },

  async up({ name, report }) {
    const started = performance.now();
    const tools = {
      ...(await ensureParts(firstNodeParts, report)),
      ...mapExtraTools(),
      node: process.execPath,
    };
    if (await stopNode(name)) report(`what was left of cluster ${name} is removed`);
    const layout = await chooseLayout(name);
    report(`starting the node at ${layout.nodeAddress}`);
    await startNode({ layout, tools });
    const record = readRecord(name) as NodeRecord;
    await waitUntilReady(record, report);
    report(`cluster ${name} is ready after ${formatSecondsSince(started)}`);
    return toCluster(record);
  },

  down: ({ name }) => stopNode(name),

  async find({ name, report }) {
    const record = readRecord(name);
    if (record === undefined || !isAlive(record.process) || !canStartExtras(record))
      return undefined;
    const isHealthy = await isHealthyInTime(
      { name, report },
      async () => (await isNodeReady(record)) && isDnsReady(record),
    );
    return isHealthy ? toCluster(record) : undefined;
  },
};

const toCluster = (record: NodeRecord): Cluster => ({
  name: record.layout.name,
  kind: 'native',
  kubeconfig: getStatePaths(record.layout).adminKubeconfig,
  kubectl: requireTool(record, 'kubectl'),
  nodeAddress: record.layout.nodeAddress,
  controlPlanePort: CONTROL_PLANE_PORT,
  loadImage: ({ archive }) => loadImage(record, archive),
  registry: buildRegistryHost(record),
  gitHost: chooseGitHost(record),
  with: (extras, report) => addExtras(record, extras, report),
});

async function waitUntilReady(record: NodeRecord, report: Report): Promise<void> {
  const { containerdSocket } = getStatePaths(record.layout);
  const steps: [string, () => Promise<boolean> | boolean][] = [
    ['containerd', () => existsSync(containerdSocket) && isFulfilled(loadPauseImage(record))],
    ['API server', () => canRun(...buildKubectlCommand(record, 'get', '--raw', '/readyz'))],
    ['node', () => isNodeReady(record)],
    ['DNS', () => isDnsReady(record)],
    // Without this account the API refuses every pod.
    [
      'default service account',
      () => canRun(...buildKubectlCommand(record, 'get', 'serviceaccount', 'default')),
    ],
  ];
  for (const [what, ask] of steps) await waitForStep({ record, what, report }, ask);
}

/** Builds the parts of these extras, and waits until the node runs them. */
async function addExtras(
  record: NodeRecord,
  extras: readonly Extra[],
  report: Report,
): Promise<Cluster> {
  await ensureParts(listExtraParts(extras), report);
  const { wanted } = getStatePaths(record.layout);
  for (const extra of extras) writeFileSync(wanted(extra), '');
  for (const extra of extras)
    await waitForStep({ record, what: extra, report }, () => isExtraReady(record, extra));
  return toCluster(record);
}

type Awaited = { record: NodeRecord; what: string; report: Report };

async function waitForStep(
  { record, what, report }: Awaited,
  ask: () => Promise<boolean> | boolean,
): Promise<void> {
  const { logFolder } = getStatePaths(record.layout);
  const started = performance.now();
  await waitUntil({ what: `${what} (logs: ${logFolder})`, seconds: 120 }, () => {
    if (!isAlive(record.process))
      throw new Unhealthy(`The node ended; supervisor.log in ${logFolder} says why.`);
    return ask();
  });
  report(`${what}: ready (${formatSecondsSince(started)})`);
}

/** Returns whether the node starts extras when they are wanted, and finds their tools where they are built now. */
const canStartExtras = (record: NodeRecord): boolean =>
  existsSync(getStatePaths(record.layout).wantedFolder) &&
  Object.entries(mapExtraTools()).every(
    ([tool, path]) => record.tools[tool] === path || existsSync(requireTool(record, tool)),
  );

async function isNodeReady(record: NodeRecord): Promise<boolean> {
  const condition = '{.status.conditions[?(@.type=="Ready")].status}';
  const asked = buildKubectlCommand(
    record,
    'get',
    'node',
    record.layout.nodeName,
    '-o',
    `jsonpath=${condition}`,
  );
  return (await runProcess(...asked).catch(() => '')) === 'True';
}

const isDnsReady = ({ layout }: NodeRecord): Promise<boolean> =>
  isAnswering(`http://${layout.nodeAddress}:8181/ready`);

function isExtraReady(record: NodeRecord, extra: Extra): Promise<boolean> {
  if (extra === 'metrics')
    return canRun(
      ...buildKubectlCommand(record, 'get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes'),
    );
  return isAnswering(buildHealthUrl(record, extra));
}

async function isAnswering(url: string): Promise<boolean> {
  const answer = fetch(url, { signal: AbortSignal.timeout(2000) });
  return (await answer.catch(() => undefined))?.ok === true;
}

function buildKubectlCommand(record: NodeRecord, ...args: string[]): [string, string[]] {
  const options = [
    '--kubeconfig',
    getStatePaths(record.layout).adminKubeconfig,
    '--request-timeout=3s',
  ];
  return [requireTool(record, 'kubectl'), [...options, ...args]];
}
