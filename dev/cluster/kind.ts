import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runProcess, canRun } from '../commands.ts';
import { readDevConfig, extendEnvironment } from '../env.ts';
import { findExecutable, isExecutable } from '../executable.ts';
import { requireDocker } from '../images/docker.ts';
import { formatSecondsSince, type Report } from '../steps.ts';
import { buildKindConfiguration, needsPorts, chooseKindPorts } from './kind-network.ts';
import { removeServers, startServers } from './kind-servers.ts';
import { isHealthyInTime } from './late.ts';
import { findTool } from './parts.ts';
import { ensurePathTool, requirePathTools } from './path-tools.ts';
import type { Cluster, LoadableImage, Provider } from './provider.ts';

/** The image of kind 0.33.0; another kind on the PATH starts the same. */
const NODE_IMAGE =
  'kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5';

export const kind: Provider = {
  kind: 'kind',

  async require() {
    await requireDocker();
    // On Linux the node's own kubectl is copied.
    await requirePathTools([
      'kind',
      'helm',
      ...(process.platform === 'linux' ? [] : (['kubectl'] as const)),
    ]);
  },

  async up({ name, report }) {
    const tool = await ensureKind(report);
    const started = performance.now();
    await runProcess(tool, ['delete', 'cluster', '--name', name]);
    report(`creating the kind cluster ${name}`);
    const configuration = buildKindConfiguration({
      cluster: name,
      image: readDevConfig().kindImage ?? NODE_IMAGE,
      isMapped: await isMapped(),
    });
    await runProcess(
      tool,
      ['create', 'cluster', '--name', name, '--wait', '180s', '--config', '-'],
      {
        input: JSON.stringify(configuration),
        env: extendEnvironment({ KUBECONFIG: getKubeconfigPath(name) }),
      },
    );
    report(`cluster ${name} is ready after ${formatSecondsSince(started)}`);
    return buildCluster(name, tool, report);
  },

  async down({ name, report }) {
    const there = await hasNode(name);
    if (there) await runProcess(await ensureKind(report), ['delete', 'cluster', '--name', name]);
    await removeServers(name);
    for (const file of [getKubeconfigPath(name), getKubectlCopyPath(name)])
      await rm(file, { force: true });
    return there;
  },

  async find({ name, report }) {
    if (!(await hasNode(name))) return undefined;
    const cluster = await buildCluster(name, await ensureKind(report), report);
    const asked = [
      '--kubeconfig',
      cluster.kubeconfig,
      '--request-timeout=3s',
      'get',
      '--raw',
      '/readyz',
    ];
    return (await isHealthyInTime({ name, report }, () => canRun(cluster.kubectl, asked)))
      ? cluster
      : undefined;
  },
};

const getNodeName = (name: string): string => `${name}-control-plane`;
const getKubeconfigPath = (name: string): string =>
  join(homedir(), '.kube', `gx-platform-${name}.kubeconfig`);
const getKubectlCopyPath = (name: string): string =>
  join(homedir(), '.kube', `gx-platform-${name}.kubectl`);
const hasNode = (name: string): Promise<boolean> =>
  canRun('docker', ['inspect', getNodeName(name)]);

/** Returns whether this machine reaches the node and the servers beside it by ports of its own. */
async function isMapped(): Promise<boolean> {
  const asked = await runProcess('docker', [
    'info',
    '--format',
    '{{json .OperatingSystem}}|{{json .SecurityOptions}}',
  ]);
  const [operatingSystem = '', securityOptions = ''] = asked.split('|');
  return needsPorts({ platform: process.platform, operatingSystem, securityOptions });
}

async function buildCluster(name: string, tool: string, report: Report): Promise<Cluster> {
  const mapped = await isMapped();
  const cluster: Cluster = {
    name,
    kind: 'kind',
    kubeconfig: getKubeconfigPath(name),
    kubectl: await ensureKubectl(name, report),
    nodeAddress: mapped ? '127.0.0.1' : await readAddress(name),
    controlPlanePort: chooseKindPorts(name).controlPlane,
    loadImage: (image) => loadImage(name, tool, image),
    // Its servers are pulled, not compiled, so they have started already.
    with: () => Promise.resolve(cluster),
    ...(await startServers({ cluster: name, node: getNodeName(name), isMapped: mapped })),
  };
  return cluster;
}

async function readAddress(name: string): Promise<string> {
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  return (await runProcess('docker', ['inspect', '--format', format, getNodeName(name)])).trim();
}

async function loadImage(
  name: string,
  tool: string,
  { reference, archive }: LoadableImage,
): Promise<void> {
  const listed = [
    'ctr',
    '--namespace',
    'k8s.io',
    'images',
    'list',
    '--quiet',
    `name==${reference}`,
  ];
  if ((await runProcess('docker', ['exec', getNodeName(name), ...listed])).trim() === reference)
    return;
  await runProcess(tool, ['load', 'image-archive', archive, '--name', name]);
}

// The node's image has a kubectl of the right version, which is quicker than compiling one.
async function ensureKubectl(name: string, report: Report): Promise<string> {
  const found = findExecutable('kubectl') ?? findTool('kubectl');
  if (found !== undefined) return found;
  if (process.platform !== 'linux') return ensurePathTool('kubectl', report);
  const copy = getKubectlCopyPath(name);
  if (!isExecutable(copy))
    await runProcess('docker', ['cp', `${getNodeName(name)}:/usr/bin/kubectl`, copy]);
  return copy;
}

const ensureKind = (report: Report): Promise<string> => ensurePathTool('kind', report);
