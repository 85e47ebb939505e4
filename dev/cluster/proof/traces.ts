import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { command } from '../commands.ts';
import { clustersWithState } from '../native/host.ts';
import { statesFolder, type Layout } from '../native/layout.ts';
import { fixedFolders } from '../native/namespaces.ts';
import { isMountedBelow } from '../native/stop.ts';

/** Whatever a cluster of this layout has left on the host, one line each. */
export async function tracesOf(layout: Layout): Promise<string[]> {
  const { state, hostTable, hostInterface, cgroup } = layout;
  const tables = await command('nft', ['list', 'tables']);
  const cgroups = await command('find', ['/sys/fs/cgroup', '-type', 'd', '-name', basename(cgroup)]);
  // What clusters share goes with the last one.
  const shared = clustersWithState().length === 0 ? [statesFolder, ...fixedFolders] : [];
  return [
    ...processesOf(layout).map((line) => `process ${line}`),
    ...Object.keys(networkInterfaces()).filter((one) => one === hostInterface),
    ...tables.split('\n').filter((line) => line.endsWith(` ${hostTable}`)),
    ...cgroups.split('\n').filter(Boolean),
    ...(isMountedBelow(state) ? [`mount below ${state}`] : []),
    ...[state, ...shared].filter((path) => existsSync(path)),
  ];
}

function processesOf({ name, state }: Layout): string[] {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && entry !== String(process.pid));
  const lines = pids.map((pid) => `${pid} ${commandLine(pid)}`);
  return lines.filter((line) => line.includes(`${state}/`) || line.endsWith(`supervisor.ts ${name} `));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(join('/proc', pid, 'cmdline'), 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Settings of the whole machine that a node would like to change. */
export const kernelSettings = (): string =>
  ['net/ipv4/ip_forward', 'vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops']
    .map((name) => `${name}=${readFileSync(join('/proc/sys', name), 'utf8').trim()}`)
    .join(' ');
