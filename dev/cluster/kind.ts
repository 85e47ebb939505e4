import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { command, succeeds } from '../commands.ts';
import { environmentWith } from '../env.ts';
import { findExecutable, isExecutable } from '../executable.ts';
import { secondsSince, type Report } from '../steps.ts';
import { removeServers, startServers } from './kind-servers.ts';
import { ensureTools, findTool } from './parts.ts';
import type { Cluster, Provider } from './provider.ts';

const mappedPorts = [30080, 30081];

export const kind: Provider = {
  kind: 'kind',

  async up({ name, report }) {
    const tool = await kindTool(report);
    const started = performance.now();
    await command(tool, ['delete', 'cluster', '--name', name]);
    report(`creating the kind cluster ${name}`);
    await command(tool, ['create', 'cluster', '--name', name, '--wait', '180s', '--config', '-'], {
      input: JSON.stringify(configuration(name)),
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
    return (await succeeds(cluster.kubectl, asked)) ? cluster : undefined;
  },
};

const nodeOf = (name: string): string => `${name}-control-plane`;
const kubeconfigOf = (name: string): string => join(homedir(), '.kube', `gx-platform-${name}.kubeconfig`);
const kubectlCopyOf = (name: string): string => join(homedir(), '.kube', `gx-platform-${name}.kubectl`);
const exists = (name: string): Promise<boolean> => succeeds('docker', ['inspect', nodeOf(name)]);

// On Linux the node's own address is reachable, so only the cluster of `make run` takes ports of the machine.
const isMapped = (name: string): boolean => name === 'gx' || process.platform !== 'linux';

const configuration = (name: string) => ({
  kind: 'Cluster',
  apiVersion: 'kind.x-k8s.io/v1alpha4',
  nodes: [
    {
      role: 'control-plane',
      extraPortMappings: (isMapped(name) ? mappedPorts : []).map((port) => ({
        containerPort: port,
        hostPort: port,
        listenAddress: '127.0.0.1',
      })),
    },
  ],
});

async function clusterOf(name: string, tool: string, report: Report): Promise<Cluster> {
  return {
    name,
    kind: 'kind',
    kubeconfig: kubeconfigOf(name),
    kubectl: await kubectlOf(name, report),
    nodeAddress: isMapped(name) ? '127.0.0.1' : await addressOf(name),
    loadImage: (archive) => loadImage(name, tool, archive),
    ...(await startServers({ cluster: name, node: nodeOf(name), isMapped: isMapped(name) })),
  };
}

async function addressOf(name: string): Promise<string> {
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  return (await command('docker', ['inspect', '--format', format, nodeOf(name)])).trim();
}

async function loadImage(name: string, tool: string, archive: string): Promise<void> {
  await command(tool, ['load', 'image-archive', archive, '--name', name]);
}

// The node's image has a kubectl of the right version, which is quicker than compiling one.
async function kubectlOf(name: string, report: Report): Promise<string> {
  const found = findExecutable('kubectl') ?? findTool('kubectl');
  if (found !== undefined) return found;
  if (process.platform !== 'linux') return (await ensureTools(['kubectl'], report)).kubectl;
  const copy = kubectlCopyOf(name);
  if (!isExecutable(copy)) await command('docker', ['cp', `${nodeOf(name)}:/usr/bin/kubectl`, copy]);
  return copy;
}

async function kindTool(report: Report): Promise<string> {
  return findExecutable('kind') ?? (await ensureTools(['kind'], report)).kind;
}
