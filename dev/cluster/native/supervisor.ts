// Runs inside the node's namespaces, under an init that reaps; ends only when it is killed.
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { succeeds } from '../commands.ts';
import { firstComponents, laterComponents, type Component } from './components.ts';
import { fileOf, type Layout } from './layout.ts';
import { furnish } from './namespaces.ts';
import { readRecord, type NodeRecord } from './record.ts';
import { until } from '../wait.ts';

const restartAfter = 1000;

async function main(name: string): Promise<void> {
  const record = readRecord(name);
  if (record === undefined) throw new Error(`There is no record of cluster ${name}.`);
  await furnish(record.layout);
  for (const component of firstComponents(record.layout)) keepRunning(component, record);
  await becomeReady(record);
  for (const component of laterComponents(record.layout)) keepRunning(component, record);
}

async function becomeReady({ layout, tools }: NodeRecord): Promise<void> {
  const kubectl = (...args: string[]) => ['--kubeconfig', fileOf(layout).pki('admin.kubeconfig'), ...args];
  const tool = tools['kubectl'] ?? 'kubectl';
  const roles = '/readyz/poststarthook/rbac/bootstrap-roles';
  await until({ what: 'the API server', seconds: 120 }, () => succeeds(tool, kubectl('get', '--raw', roles)));
  say('API server is ready');
  const file = fileOf(layout).config('manifests.json');
  await until({ what: 'kube-system', seconds: 60 }, () => succeeds(tool, kubectl('apply', '-f', file)));
  await until({ what: 'containerd', seconds: 60 }, () => existsSync(fileOf(layout).containerdSocket));
}

function keepRunning(component: Component, record: NodeRecord): void {
  const log = openSync(fileOf(record.layout).log(component.name), 'a');
  const start = () => {
    const child = spawn(record.tools[component.tool] ?? component.tool, component.args, {
      stdio: ['ignore', log, log],
      env: environmentOf(component, record.layout),
      cwd: record.layout.state,
    });
    say(`${component.name} started`);
    child.on('error', (error) => say(`${component.name}: ${error.message}`));
    child.on('close', (code, signal) => {
      say(`${component.name} ended (${code ?? signal}), starts again`);
      setTimeout(start, restartAfter);
    });
  };
  start();
}

function environmentOf(component: Component, layout: Layout): NodeJS.ProcessEnv {
  const own = { PATH: process.env['PATH'], HOME: layout.state };
  return component.proxied === true ? { ...process.env, ...own } : own;
}

const say = (line: string): void => {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
};

await main(process.argv[2] ?? '').catch(async (error: Error) => {
  say(`${basename(import.meta.filename)}: ${error.message}`);
  process.exitCode = 1;
  // The init and with it the namespaces end with this process: a moment for the log.
  await sleep(50);
  process.exit();
});
