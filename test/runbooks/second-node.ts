import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { runProcess, formatFlags } from '../../dev/commands.ts';
import { makeCgroup } from '../../dev/cluster/native/cgroups.ts';
import { getStatePaths } from '../../dev/cluster/native/layout.ts';
import { readRecord, requireTool, type NodeRecord } from '../../dev/cluster/native/record.ts';
import { buildImages, chooseEngine } from '../../dev/images/build.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { innerProcessOf } from './node.ts';

/*
 * A second node of the native cluster: another kubelet with a containerd of its own, which shares network and kernel
 * with the first. It can die alone.
 */

const IMAGES = ['gx-postgres', 'gx-platform', 'gx-example-echo'];
const PORT = 10_350;

export type SecondNode = {
  name: string;
  /** Kills all of its processes and its pods at once. */
  die(): void;
  /** Kills what is left of it, and removes it from the cluster. */
  remove(): Promise<void>;
};

type Parts = { record: NodeRecord; folder: string; socket: string; cgroup: string; name: string };

/** Starts a process among the namespaces of the node. Its log is beside those of the first node. */
function start({ record }: Parts, cluster: string, tool: string, args: string[]): void {
  const log = openSync(getStatePaths(record.layout).log(`second-${tool}`), 'a');
  const inside = [
    '--target',
    String(innerProcessOf(cluster)),
    '--mount',
    '--net',
    '--uts',
    '--ipc',
    '--pid',
    '--',
  ];
  const env = {
    ...process.env,
    PATH: [...new Set(Object.values(record.tools).map((path) => join(path, '..')))]
      .join(':')
      .concat(`:${process.env['PATH']}`),
  };
  spawn('nsenter', [...inside, requireTool(record, tool), ...args], {
    stdio: ['ignore', log, log],
    detached: true,
    env,
  }).unref();
  closeSync(log);
}

/** Writes the configuration of both, made from that of the first node. */
async function configure({ record, folder, socket, cgroup }: Parts): Promise<void> {
  const { config, containerdRoot, containerdSocket } = getStatePaths(record.layout);
  const containerd = readFileSync(config('containerd.toml'), 'utf8')
    .replaceAll(containerdRoot, join(folder, 'containerd'))
    .replaceAll(containerdSocket, socket)
    .replace('"/run/containerd"', '"/run/containerd-second"');
  const kubelet = {
    ...(JSON.parse(readFileSync(config('kubelet.json'), 'utf8')) as object),
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupRoot: cgroup,
    port: PORT,
    healthzPort: PORT + 1,
    podLogsDir: join(folder, 'pods'),
  };
  await mkdir(join(folder, 'pods'), { recursive: true });
  await writeFile(join(folder, 'containerd.toml'), containerd);
  await writeFile(join(folder, 'kubelet.json'), JSON.stringify(kubelet));
}

async function loadImages({ record, socket }: Parts): Promise<void> {
  const archives = (
    await buildImages({ engine: await chooseEngine(), only: IMAGES, report: () => undefined })
  ).map(({ archive }) => archive);
  for (const archive of [join(getStatePaths(record.layout).images, 'pause.tar'), ...archives])
    await runProcess(requireTool(record, 'ctr'), [
      '--address',
      socket,
      '--namespace',
      'k8s.io',
      'images',
      'import',
      '--local',
      archive,
    ]);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Kills every process whose command or cgroup is the node's. */
function kill({ folder, cgroup }: Parts): void {
  const isOurs = (pid: string): boolean =>
    textOf(`/proc/${pid}/cmdline`).includes(folder) ||
    textOf(`/proc/${pid}/cgroup`).includes(`${cgroup}/`);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOurs(name))) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Starts the node, and waits until it is ready. */
export async function startSecondNode(system: SystemUnderTest): Promise<SecondNode> {
  const record = readRecord(system.name);
  if (record === undefined) throw new Error(`There is no cluster ${system.name}.`);
  const { layout } = record;
  const folder = join(layout.state, 'second');
  const parts = {
    record,
    folder,
    socket: join(folder, 'containerd.sock'),
    cgroup: `${layout.cgroup}/second`,
    name: `${layout.nodeName}-2`,
  };
  const kubectl = kubectlFor(system);
  await configure(parts);
  makeCgroup(parts.cgroup);
  start(parts, system.name, 'containerd', ['--config', join(folder, 'containerd.toml')]);
  await until('its containerd answers', () => existsSync(parts.socket));
  await loadImages(parts);
  const options = {
    // That of an administrator: the keys of the cluster are made for one node.
    kubeconfig: getStatePaths(layout).adminKubeconfig,
    config: join(folder, 'kubelet.json'),
    'root-dir': join(folder, 'kubelet'),
    'hostname-override': parts.name,
    'node-ip': layout.nodeAddress,
  };
  start(parts, system.name, 'kubelet', formatFlags(options));
  await until('it has joined', () => kubectl('get', 'node', parts.name));
  await kubectl('wait', 'node', parts.name, '--for=condition=Ready', '--timeout=90s');
  return {
    name: parts.name,
    die: () => {
      // A container that was just being started is found the second time.
      kill(parts);
      kill(parts);
    },
    remove: async () => {
      kill(parts);
      await kubectl('delete', 'node', parts.name, '--ignore-not-found');
    },
  };
}
