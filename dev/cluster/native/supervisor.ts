// The supervisor runs inside the node's namespaces, under an init that reaps; it ends only when it is killed.
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { delimiter } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProcess, isFulfilled, canRun } from '../../commands.ts';
import { readDevConfig, readNetworkEnvironment } from '../../env.ts';
import { waitUntil } from '../../wait.ts';
import { firstOnNode, extrasOnNode } from '../part-list.ts';
import { getStatePaths, type Layout } from './layout.ts';
import { prepareNode } from './namespaces.ts';
import { buildManifestList, type ExtraPart, type NodeProcess } from './node-part.ts';
import { readRecord, requireTool, type NodeRecord } from './record.ts';

const RESTART_AFTER = 1000;

async function main(name: string): Promise<void> {
  const record = readRecord(name);
  if (record === undefined) throw new Error(`There is no record of cluster ${name}.`);
  await prepareNode(record.layout);
  const processes = firstOnNode.flatMap((part) => part.processes?.(record.layout) ?? []);
  for (const early of processes.filter(({ isEarly }) => isEarly)) keepRunning(early, record);
  await applyManifest(record);
  for (const late of processes.filter(({ isEarly }) => !isEarly)) keepRunning(late, record);
  await Promise.all(extrasOnNode.map((part) => startWanted(part, record)));
}

/** Starts a part once somebody wants its extra, which may be never. Its tools are there by then. */
async function startWanted({ extra, ...part }: ExtraPart, record: NodeRecord): Promise<void> {
  const processes = part.processes?.(record.layout) ?? [];
  const file = getStatePaths(record.layout).wanted(extra);
  await waitUntil({ what: extra, seconds: Infinity, every: 500 }, () => existsSync(file));
  if (part.manifest !== undefined)
    await applyObjects(JSON.stringify(buildManifestList([part], record.layout)), record);
  for (const process of processes) keepRunning(process, record);
}

/**
 * Applies the manifest once the API server and containerd answer. The other processes fail until RBAC's bootstrap roles
 * exist.
 */
async function applyManifest(record: NodeRecord): Promise<void> {
  const { pki, config, containerdSocket } = getStatePaths(record.layout);
  const runKubectl = (...args: string[]): Promise<boolean> =>
    canRun(requireTool(record, 'kubectl'), ['--kubeconfig', pki('admin.kubeconfig'), ...args]);
  const roles = '/readyz/poststarthook/rbac/bootstrap-roles';
  await waitUntil({ what: 'the API server', seconds: 120 }, () =>
    runKubectl('get', '--raw', roles),
  );
  logLine('API server is ready');
  await waitUntil({ what: 'kube-system', seconds: 60 }, () =>
    runKubectl('apply', '-f', config('manifest.json')),
  );
  await waitUntil({ what: 'containerd', seconds: 60 }, () => existsSync(containerdSocket));
}

async function applyObjects(input: string, record: NodeRecord): Promise<void> {
  const args = [
    '--kubeconfig',
    getStatePaths(record.layout).pki('admin.kubeconfig'),
    'apply',
    '-f',
    '-',
  ];
  const tryApply = (): Promise<boolean> =>
    isFulfilled(runProcess(requireTool(record, 'kubectl'), args, { input }));
  await waitUntil({ what: 'the API server', seconds: 60 }, tryApply);
}

function keepRunning(process: NodeProcess, record: NodeRecord): void {
  const { name, tool, args } = process;
  const log = openSync(getStatePaths(record.layout).log(name), 'a');
  const start = (): void => {
    const child = spawn(requireTool(record, tool), args, {
      stdio: ['ignore', log, log],
      env: buildEnvironment(process, record.layout),
      cwd: record.layout.state,
    });
    logLine(`${name} started`);
    child.on('error', (error) => logLine(`${name}: ${error.message}`));
    child.on('close', (code, signal) => {
      logLine(`${name} ended (${code ?? signal}), starts again`);
      setTimeout(start, RESTART_AFTER);
    });
  };
  start();
}

const buildEnvironment = ({ isProxied }: NodeProcess, { state }: Layout): NodeJS.ProcessEnv => ({
  ...(isProxied === true && readNetworkEnvironment()),
  PATH: readDevConfig().path.join(delimiter),
  HOME: state,
});

const logLine = (line: string): void => {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
};

await main(process.argv[2] ?? '').catch(async (error: Error) => {
  logLine(`the supervisor failed: ${error.message}`);
  process.exitCode = 1;
  // The init ends with this process, and the namespaces end with the init, so the log needs a moment first.
  await sleep(50);
  process.exit();
});
