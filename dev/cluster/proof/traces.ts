import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { command } from '../commands.ts';
import { layoutOf, stateOf } from '../native/layout.ts';
import { fixedFolders } from '../native/namespaces.ts';
import { isMountedBelow } from '../native/stop.ts';

/** Whatever a cluster of this name has on the host, one line each. */
export async function tracesOf(name: string): Promise<string[]> {
  const { hostTable, cgroup } = layoutOf(name, 0);
  const tables = await command('nft', ['list', 'tables']);
  const cgroups = await command('find', ['/sys/fs/cgroup', '-type', 'd', '-name', basename(cgroup)]);
  return [
    ...processesOf(name).map((line) => `process ${line}`),
    ...Object.keys(networkInterfaces())
      .filter((one) => one.startsWith('gx-wire'))
      .map((one) => `interface ${one}`),
    ...tables.split('\n').filter((line) => line.endsWith(` ${hostTable}`)),
    ...cgroups
      .split('\n')
      .filter(Boolean)
      .map((folder) => `cgroup ${folder}`),
    ...(isMountedBelow(stateOf(name)) ? [`mount below ${stateOf(name)}`] : []),
    ...[stateOf(name), ...fixedFolders].filter((path) => existsSync(path)).map((path) => `file ${path}`),
  ];
}

function processesOf(name: string): string[] {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && entry !== String(process.pid));
  const lines = pids.map((pid) => `${pid} ${commandLine(pid)}`);
  return lines.filter((line) => line.includes(`${stateOf(name)}/`) || line.endsWith(`supervisor.ts ${name} `));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(join('/proc', pid, 'cmdline'), 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

export const forwarding = (): string => readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim();
