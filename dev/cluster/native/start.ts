import { spawn } from 'node:child_process';
import { openSync, readFileSync, statfsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { runProcess, formatFlags } from '../../commands.ts';
import { readNetworkEnvironment } from '../../env.ts';
import { searchPath } from '../../executable.ts';
import { Unhealthy } from '../../errors.ts';
import { waitUntil } from '../../wait.ts';
import { firstOnNode, runsOnNode } from '../part-list.ts';
import { makeCgroup } from './cgroups.ts';
import { connectNode, prepareFolders } from './host.ts';
import { getStatePaths, firstServiceAddress } from './layout.ts';
import { fixedFolders } from './namespaces.ts';
import { formatJson, buildManifestList } from './node-part.ts';
import {
  listChildProcesses,
  isAlive,
  readProcessMark,
  requireTool,
  writeRecord,
  type NodeRecord,
  type ProcessMark,
} from './record.ts';

/** Writes the node's files, makes its namespaces and starts its supervisor in them. */
export async function startNode(record: NodeRecord): Promise<void> {
  const { layout } = record;
  const { kubelet, volumes, logFolder, wantedFolder } = getStatePaths(layout);
  await mkdir(layout.state, { recursive: true, mode: 0o711 });
  // The record is written first, so that `down` knows what to remove, however far this gets.
  await writeRecord(record);
  prepareFolders([kubelet, volumes, logFolder, wantedFolder, ...fixedFolders]);
  await writeKeys(record);
  await writeConfiguration(record);
  makeCgroup(layout.cgroup);
  const process = await enterNamespaces(record);
  await writeRecord({ ...record, process });
  await connectNode(layout, await waitForInnerProcess(process));
}

async function writeKeys(record: NodeRecord): Promise<void> {
  const { layout } = record;
  const { pki, adminKubeconfig } = getStatePaths(layout);
  const wanted = formatFlags({
    dir: dirname(pki('ca.crt')),
    cluster: layout.name,
    'node-name': layout.nodeName,
    'node-address': layout.nodeAddress,
    'service-address': firstServiceAddress,
  });
  await runProcess(requireTool(record, 'cluster-pki'), wanted);
  await writeFile(adminKubeconfig, readFileSync(pki('admin.kubeconfig')), { mode: 0o600 });
}

/** Writes the inputs of the node's parts: their files, and one list of the objects of those that start first. */
async function writeConfiguration(record: NodeRecord): Promise<void> {
  const { layout } = record;
  const setup = {
    layout,
    runc: requireTool(record, 'runc'),
    snapshotter: chooseSnapshotter(layout.state),
    nameservers: findNameservers(),
  };
  const files = Object.assign({}, ...runsOnNode.map((part) => part.files?.(setup))) as Record<
    string,
    string
  >;
  files[getStatePaths(layout).config('manifest.json')] = formatJson(
    buildManifestList(firstOnNode, layout),
  );
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

// In a container the state folder may itself be on an overlay. Overlays do not stack, so files are then copied.
function chooseSnapshotter(folder: string): 'overlayfs' | 'native' {
  const overlayMagic = 0x794c7630;
  return statfsSync(folder).type === overlayMagic ? 'native' : 'overlayfs';
}

// The node can't reach a resolver on the host's loopback address. systemd-resolved names its own upstreams.
function findNameservers(): string[] {
  for (const file of ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']) {
    const found = readNameservers(file).filter((address) => !/^(127\.|::1$)/.test(address));
    if (found.length > 0) return found;
  }
  return [];
}

function readNameservers(file: string): string[] {
  try {
    return [...readFileSync(file, 'utf8').matchAll(/^nameserver\s+(\S+)/gm)].map(
      ([, address = '']) => address,
    );
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
  const log = openSync(getStatePaths(layout).log('supervisor'), 'a');
  const supervisor = join(import.meta.dirname, 'supervisor.ts');
  const inside = [requireTool(record, 'tini'), '--', process.execPath, supervisor, layout.name];
  const child = spawn(requireTool(record, 'unshare'), [...namespaces, '--', ...inside], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
    env: buildNodeEnvironment(tools),
  });
  child.unref();
  const mark = child.pid === undefined ? undefined : readProcessMark(child.pid);
  if (mark === undefined) throw new Unhealthy(`The node of cluster ${layout.name} did not start.`);
  return mark;
}

function buildNodeEnvironment(tools: Record<string, string>): NodeJS.ProcessEnv {
  const folders = [...new Set(Object.values(tools).map(dirname)), ...searchPath()];
  return { ...readNetworkEnvironment(), PATH: [...new Set(folders)].join(delimiter) };
}

async function waitForInnerProcess(outer: ProcessMark): Promise<number> {
  return waitUntil({ what: 'the node to start', seconds: 10, every: 10 }, () => {
    if (!isAlive(outer))
      throw new Unhealthy('The node ended at once; its supervisor.log says why.');
    return listChildProcesses(outer.pid)[0];
  });
}
