import { existsSync } from 'node:fs';
import type { Cluster, Provider } from './provider.ts';
import { command, succeeds } from './commands.ts';
import { chooseLayout } from './native/host.ts';
import { loadImage, loadOwnImages } from './native/images.ts';
import { fileOf } from './native/layout.ts';
import { ensurePackages } from './native/packages.ts';
import { isAlive, readRecord, type NodeRecord } from './native/record.ts';
import { startNode } from './native/start.ts';
import { stopNode } from './native/stop.ts';
import { until } from './wait.ts';
import { nativeParts } from './part-list.ts';
import { ensureParts } from './parts.ts';
import { seconds, type Report } from './report.ts';

export const native: Provider = {
  kind: 'native',

  async up({ name, report }) {
    const started = Date.now();
    await ensurePackages(report);
    const tools = await ensureParts(nativeParts, report);
    if (await stopNode(name)) report(`what was left of cluster ${name} is removed`);
    const layout = await chooseLayout(name);
    report(`starting the node at ${layout.nodeAddress}`);
    await startNode(layout, tools);
    const record = readRecord(name) as NodeRecord;
    await becomeReady(record, report);
    report(`cluster ${name} is ready after ${seconds(started)}`);
    return clusterOf(record);
  },

  down: ({ name }) => stopNode(name),

  async find({ name }) {
    const record = readRecord(name);
    if (record === undefined || !isAlive(record.process)) return undefined;
    return (await isNodeReady(record)) && (await isDnsReady(record)) ? clusterOf(record) : undefined;
  },
};

function clusterOf(record: NodeRecord): Cluster {
  return {
    name: record.layout.name,
    kind: 'native',
    kubeconfig: fileOf(record.layout).adminKubeconfig,
    kubectl: record.tools['kubectl'] ?? 'kubectl',
    nodeAddress: record.layout.nodeAddress,
    loadImage: (archive) => loadImage(record, archive),
  };
}

async function becomeReady(record: NodeRecord, report: Report): Promise<void> {
  const { containerdSocket, logFolder } = fileOf(record.layout);
  const loaded = () =>
    loadOwnImages(record).then(
      () => true,
      () => false,
    );
  const steps: [string, () => Promise<boolean> | boolean][] = [
    ['containerd', () => existsSync(containerdSocket) && loaded()],
    ['API server', () => succeeds(...kubectl(record, 'get', '--raw', '/readyz'))],
    ['node', () => isNodeReady(record)],
    ['DNS', () => isDnsReady(record)],
    // Without it the API refuses every pod.
    ['default service account', () => succeeds(...kubectl(record, 'get', 'serviceaccount', 'default'))],
  ];
  for (const [step, ask] of steps) {
    const started = Date.now();
    await until({ what: `${step} (logs: ${logFolder})`, seconds: 120 }, () => {
      if (!isAlive(record.process)) throw new Error(`The node ended; supervisor.log in ${logFolder} says why.`);
      return ask();
    });
    report(`${step}: ready (${seconds(started)})`);
  }
}

async function isNodeReady(record: NodeRecord): Promise<boolean> {
  const condition = '{.status.conditions[?(@.type=="Ready")].status}';
  const asked = kubectl(record, 'get', 'node', record.layout.nodeName, '-o', `jsonpath=${condition}`);
  return command(...asked).then(
    (status) => status === 'True',
    () => false,
  );
}

async function isDnsReady({ layout }: NodeRecord): Promise<boolean> {
  const timeout = AbortSignal.timeout(2000);
  return fetch(`http://${layout.nodeAddress}:8181/ready`, { signal: timeout }).then(
    (response) => response.ok,
    () => false,
  );
}

function kubectl({ layout, tools }: NodeRecord, ...args: string[]): [string, string[]] {
  const options = ['--kubeconfig', fileOf(layout).adminKubeconfig, '--request-timeout=3s'];
  return [tools['kubectl'] ?? 'kubectl', [...options, ...args]];
}
