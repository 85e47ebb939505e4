import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { command, succeeds } from '../commands.ts';
import { devConfig, environmentWith } from '../env.ts';
import { findExecutable, isExecutable } from '../executable.ts';
import { requireDocker } from '../images/docker.ts';
import { secondsSince, type Report } from '../steps.ts';
import { kindConfiguration, needsPorts, portsOf } from './kind-network.ts';
import { removeServers, startServers } from './kind-servers.ts';
import { isHealthyInTime } from './late.ts';
import { findTool } from './parts.ts';
import { pathTool, requirePathTools } from './path-tools.ts';
import type { Cluster, LoadableImage, Provider } from './provider.ts';

/** The image of kind 0.33.0; another kind on the PATH starts the same. */
const NODE_IMAGE = 'kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5';

export const kind: Provider = {
  kind: 'kind',

  async require() {
    await requireDocker();
    // On Linux the node's own kubectl is copied.
    await requirePathTools(['kind', 'helm', ...(process.platform === 'linux' ? [] : (['kubectl'] as const))]);
  },

  async up({ name, report }) {
    const tool = await kindTool(report);
    const started = performance.now();
    await command(tool, ['delete', 'cluster', '--name', name]);
    report(`creating the kind cluster ${name}`);
    const configuration = kindConfiguration({ cluster: name, image: devConfig().kindImage ?? NODE_IMAGE, isMapped: await isMapped() });
    await command(tool, ['create', 'cluster', '--name', name, '--wait', '180s', '--config', '-'], {
      input: JSON.stringify(configuration),
      env: environmentWith({ KUBECONFIG: kubeconfigOf(name) }),
    });
    report(`cluster ${name} is ready after ${secondsSince(started)}`);
    return clusterOf(name, tool, report);
  },

  async down({ name, report }) {
    const there = await exists(name);
    if (there) await command(await kindTool(report), ['delete', 'cluster', '--name', name]);
    await removeServers(name);
    for (const file of [kubeconfigOf(name), kubectlCopyOf(name)]) await rm(file, { force: true });
    return there;
  },

  async find({ name, report }) {
    if (!(await exists(name))) return undefined;
    const cluster = await clusterOf(name, await kindTool(report), report);
    const asked = ['--kubeconfig', cluster.kubeconfig, '--request-timeout=3s', 'get', '--raw', '/readyz'];
    return (await isHealthyInTime({ name, report }, () => succeeds(cluster.kubectl, asked))) ? cluster : undefined;
  },
};

const nodeOf = (name: string): string => `${name}-control-plane`;
const kubeconfigOf = (name: string): string => join(homedir(), '.kube', `gx-platform-${name}.kubeconfig`);
const kubectlCopyOf = (name: string): string => join(homedir(), '.kube', `gx-platform-${name}.kubectl`);
const exists = (name: string): Promise<boolean> => succeeds('docker', ['inspect', nodeOf(name)]);

/** Returns whether this machine reaches the node and the servers beside it by ports of its own. */
async function isMapped(): Promise<boolean> {
  const asked = await command('docker', ['info', '--format', '{{json .OperatingSystem}}|{{json .SecurityOptions}}']);
  const [operatingSystem = '', securityOptions = ''] = asked.split('|');
  return needsPorts({ platform: process.platform, operatingSystem, securityOptions });
}

async function clusterOf(name: string, tool: string, report: Report): Promise<Cluster> {
  const mapped = await isMapped();
  const cluster: Cluster = {
    name,
    kind: 'kind',
    kubeconfig: kubeconfigOf(name),
    kubectl: await kubectlOf(name, report),
    nodeAddress: mapped ? '127.0.0.1' : await addressOf(name),
    controlPlanePort: portsOf(name).controlPlane,
    loadImage: (image) => loadImage(name, tool, image),
    // Its servers are pulled, not compiled, so they have started already.
    with: () => Promise.resolve(cluster),
    ...(await startServers({ cluster: name, node: nodeOf(name), isMapped: mapped })),
  };
  return cluster;
}

async function addressOf(name: string): Promise<string> {
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  return (await command('docker', ['inspect', '--format', format, nodeOf(name)])).trim();
}

async function loadImage(name: string, tool: string, { reference, archive }: LoadableImage): Promise<void> {
  const listed = ['ctr', '--namespace', 'k8s.io', 'images', 'list', '--quiet', `name==${reference}`];
  if ((await command('docker', ['exec', nodeOf(name), ...listed])).trim() === reference) return;
  await command(tool, ['load', 'image-archive', archive, '--name', name]);
}

// The node's image has a kubectl of the right version, which is quicker than compiling one.
async function kubectlOf(name: string, report: Report): Promise<string> {
  const found = findExecutable('kubectl') ?? findTool('kubectl');
  if (found !== undefined) return found;
  if (process.platform !== 'linux') return pathTool('kubectl', report);
  const copy = kubectlCopyOf(name);
  if (!isExecutable(copy)) await command('docker', ['cp', `${nodeOf(name)}:/usr/bin/kubectl`, copy]);
  return copy;
}

const kindTool = (report: Report): Promise<string> => pathTool('kind', report);
