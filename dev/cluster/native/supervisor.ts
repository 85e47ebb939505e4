// The supervisor runs inside the node's namespaces, under an init that reaps; it ends only when it is killed.
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { delimiter } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { command, isFulfilled, succeeds } from '../../commands.ts';
import { devConfig, networkEnvironment } from '../../env.ts';
import { until } from '../../wait.ts';
import { firstOnNode, extrasOnNode } from '../part-list.ts';
import { fileOf, type Layout } from './layout.ts';
import { furnish } from './namespaces.ts';
import { manifestOf, type ExtraPart, type NodeProcess } from './node-part.ts';
import { readRecord, toolOf, type NodeRecord } from './record.ts';

const RESTART_AFTER = 1000;

async function main(name: string): Promise<void> {
  const record = readRecord(name);
  if (record === undefined) throw new Error(`There is no record of cluster ${name}.`);
  await furnish(record.layout);
  const processes = firstOnNode.flatMap((part) => part.processes?.(record.layout) ?? []);
  for (const early of processes.filter(({ isEarly }) => isEarly)) keepRunning(early, record);
  await applyManifest(record);
  for (const late of processes.filter(({ isEarly }) => !isEarly)) keepRunning(late, record);
  await Promise.all(extrasOnNode.map((part) => startWanted(part, record)));
}

/** Starts a part once somebody wants its extra, which may be never. Its tools are there by then. */
async function startWanted({ extra, ...part }: ExtraPart, record: NodeRecord): Promise<void> {
  const processes = part.processes?.(record.layout) ?? [];
  const file = fileOf(record.layout).wanted(extra);
  await until({ what: extra, seconds: Infinity, every: 500 }, () => existsSync(file));
  if (part.manifest !== undefined) await applyObjects(JSON.stringify(manifestOf([part], record.layout)), record);
  for (const process of processes) keepRunning(process, record);
}

/**
 * Applies the manifest once the API server and containerd answer. The other processes fail until RBAC's bootstrap roles
 * exist.
 */
async function applyManifest(record: NodeRecord): Promise<void> {
  const { pki, config, containerdSocket } = fileOf(record.layout);
  const kubectl = (...args: string[]): Promise<boolean> =>
    succeeds(toolOf(record, 'kubectl'), ['--kubeconfig', pki('admin.kubeconfig'), ...args]);
  const roles = '/readyz/poststarthook/rbac/bootstrap-roles';
  await until({ what: 'the API server', seconds: 120 }, () => kubectl('get', '--raw', roles));
  say('API server is ready');
  await until({ what: 'kube-system', seconds: 60 }, () => kubectl('apply', '-f', config('manifest.json')));
  await until({ what: 'containerd', seconds: 60 }, () => existsSync(containerdSocket));
}

async function applyObjects(input: string, record: NodeRecord): Promise<void> {
  const args = ['--kubeconfig', fileOf(record.layout).pki('admin.kubeconfig'), 'apply', '-f', '-'];
  const applied = (): Promise<boolean> => isFulfilled(command(toolOf(record, 'kubectl'), args, { input }));
  await until({ what: 'the API server', seconds: 60 }, applied);
}

function keepRunning(process: NodeProcess, record: NodeRecord): void {
  const { name, tool, args } = process;
  const log = openSync(fileOf(record.layout).log(name), 'a');
  const start = (): void => {
    const child = spawn(toolOf(record, tool), args, {
      stdio: ['ignore', log, log],
      env: environmentOf(process, record.layout),
      cwd: record.layout.state,
    });
    say(`${name} started`);
    child.on('error', (error) => say(`${name}: ${error.message}`));
    child.on('close', (code, signal) => {
      say(`${name} ended (${code ?? signal}), starts again`);
      setTimeout(start, RESTART_AFTER);
    });
  };
  start();
}

const environmentOf = ({ isProxied }: NodeProcess, { state }: Layout): NodeJS.ProcessEnv => ({
  ...(isProxied === true && networkEnvironment()),
  PATH: devConfig().path.join(delimiter),
  HOME: state,
});

const say = (line: string): void => {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
};

await main(process.argv[2] ?? '').catch(async (error: Error) => {
  say(`the supervisor failed: ${error.message}`);
  process.exitCode = 1;
  // The init ends with this process, and the namespaces end with the init, so the log needs a moment first.
  await sleep(50);
  process.exit();
});
