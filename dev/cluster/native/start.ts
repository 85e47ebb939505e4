import { spawn } from 'node:child_process';
import { openSync, readFileSync, statfsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { command, flags } from '../commands.ts';
import { searchPath } from '../executable.ts';
import { configurationFiles } from './configuration.ts';
import { makeCgroup } from './cgroups.ts';
import { connectNode, prepareFolders } from './host.ts';
import { pauseImage } from './images.ts';
import { fileOf, firstServiceAddress, type Layout } from './layout.ts';
import { manifests } from './manifests.ts';
import { fixedFolders } from './namespaces.ts';
import { commandPath } from './packages.ts';
import { childrenOf, isAlive, markOf, writeRecord, type NodeRecord, type ProcessMark } from './record.ts';
import { until } from '../wait.ts';

/** Writes the node's files, makes its namespaces and starts its supervisor in them. */
export async function startNode(layout: Layout, tools: Record<string, string>): Promise<void> {
  const { kubelet, volumes, logFolder } = fileOf(layout);
  await mkdir(layout.state, { recursive: true, mode: 0o711 });
  // First of all, so that `down` knows what to remove however far this comes.
  await writeRecord({ layout, tools });
  prepareFolders([kubelet, volumes, logFolder, ...fixedFolders]);
  await writeKeys(layout, tools);
  await writeConfiguration(layout);
  makeCgroup(layout.cgroup);
  const process = await enterNamespaces({ layout, tools });
  await writeRecord({ layout, tools, process });
  await connectNode(layout, await innerProcess(process));
}

async function writeKeys(layout: Layout, tools: Record<string, string>): Promise<void> {
  const { pki, adminKubeconfig } = fileOf(layout);
  const wanted = flags({
    dir: dirname(pki('ca.crt')),
    cluster: layout.name,
    'node-name': layout.nodeName,
    'node-address': layout.nodeAddress,
    'service-address': firstServiceAddress,
  });
  await command(tools['cluster-pki'] ?? 'cluster-pki', wanted);
  await writeFile(adminKubeconfig, readFileSync(pki('admin.kubeconfig')), { mode: 0o600 });
}

async function writeConfiguration(layout: Layout): Promise<void> {
  const files = {
    ...configurationFiles({
      layout,
      pauseImage,
      snapshotter: snapshotterFor(layout.state),
      runc: commandPath('runc'),
      nameservers: reachableNameservers(),
    }),
    [fileOf(layout).config('manifests.json')]: JSON.stringify(manifests(layout), undefined, 2),
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

// Inside a container the state may lie on an overlay itself, and overlays do not stack: then files are copied.
function snapshotterFor(folder: string): 'overlayfs' | 'native' {
  const overlayMagic = 0x794c7630;
  return statfsSync(folder).type === overlayMagic ? 'native' : 'overlayfs';
}

// A resolver on the host's loopback cannot be reached from the node; systemd-resolved tells of its own upstreams.
function reachableNameservers(): string[] {
  for (const file of ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']) {
    const found = nameserversIn(file).filter((address) => !/^(127\.|::1$)/.test(address));
    if (found.length > 0) return found;
  }
  return [];
}

function nameserversIn(file: string): string[] {
  try {
    return [...readFileSync(file, 'utf8').matchAll(/^nameserver\s+(\S+)/gm)].map(([, address = '']) => address);
  } catch {
    return [];
  }
}

const namespaces = [
  ...'--mount --propagation private --net --uts --ipc'.split(' '),
  // The whole node dies with this one process.
  ...'--pid --fork --kill-child --mount-proc'.split(' '),
];

async function enterNamespaces(record: NodeRecord): Promise<ProcessMark> {
  const { layout, tools } = record;
  const log = openSync(fileOf(layout).log('supervisor'), 'a');
  const supervisor = join(import.meta.dirname, 'supervisor.ts');
  const inside = [commandPath('tini'), '--', process.execPath, supervisor, layout.name];
  const child = spawn(commandPath('unshare'), [...namespaces, '--', ...inside], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
    env: nodeEnvironment(tools),
  });
  child.unref();
  const mark = child.pid === undefined ? undefined : markOf(child.pid);
  if (mark === undefined) throw new Error(`The node of cluster ${layout.name} did not start.`);
  return mark;
}

function nodeEnvironment(tools: Record<string, string>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => /^(\w+_proxy|ssl_cert_\w+)$/i.test(name));
  const toolFolders = [...new Set(Object.values(tools).map(dirname))];
  return { ...Object.fromEntries(kept), PATH: [...toolFolders, ...searchPath].join(delimiter) };
}

async function innerProcess(outer: ProcessMark): Promise<number> {
  await until({ what: 'the node to start', seconds: 10, every: 10 }, () => {
    if (!isAlive(outer)) throw new Error('The node ended at once; its supervisor.log says why.');
    return childrenOf(outer.pid).length > 0;
  });
  return childrenOf(outer.pid)[0] as number;
}
