import { runProcess, canRun } from '../commands.ts';
import { waitUntil } from '../wait.ts';
import { chooseKindPorts } from './kind-network.ts';
import { makeGiteaAccount } from './gitea-account.ts';
import type { ClusterHost, GitHost } from './provider.ts';

/*
 * The registry and the git host of a kind cluster: two containers in the network of its node, as kind documents it for
 * a local registry. Docker's DNS knows them there by the names that a native cluster uses.
 */

const NETWORK = 'kind';
const REGISTRY = {
  kind: 'registry',
  host: 'registry.gx-platform.local',
  port: 5000,
  image: 'docker.io/library/registry:3.1.2',
} as const;
const GIT = {
  kind: 'git',
  host: 'git.gx-platform.local',
  port: 3000,
  image: 'docker.io/gitea/gitea:1.26.0-rootless',
} as const;

const gitSettings: Record<string, string> = {
  GITEA__server__ROOT_URL: `http://${GIT.host}:${GIT.port}/`,
  GITEA__server__DISABLE_SSH: 'true',
  GITEA__security__INSTALL_LOCK: 'true',
  GITEA__service__DISABLE_REGISTRATION: 'true',
  GITEA__repository__ENABLE_PUSH_CREATE_USER: 'true',
  GITEA__webhook__ALLOWED_HOST_LIST: '*',
};

type Server = typeof REGISTRY | typeof GIT;
type Servers = { registry: ClusterHost; gitHost: GitHost };

const getContainerName = (cluster: string, { host }: Server): string =>
  `gx-${cluster}-${host.split('.')[0]}`;

/** A cluster, its node, and whether this machine reaches its containers by its own ports or by their addresses. */
type Place = { cluster: string; node: string; isMapped: boolean };

/** Starts the containers that do not run, and tells containerd in the node that the registry is plain HTTP. */
export async function startServers({ cluster, node, isMapped }: Place): Promise<Servers> {
  await start(cluster, REGISTRY, isMapped, {});
  await start(cluster, GIT, isMapped, gitSettings);
  const folder = `/etc/containerd/certs.d/${REGISTRY.host}:${REGISTRY.port}`;
  const written = `mkdir -p ${folder} && echo 'server = "http://${REGISTRY.host}:${REGISTRY.port}"' > ${folder}/hosts.toml`;
  await runProcess('docker', ['exec', node, 'sh', '-c', written]);
  const [registry, git] = [
    await readServer(cluster, REGISTRY, isMapped),
    await readServer(cluster, GIT, isMapped),
  ];
  await waitUntil(
    { what: 'the git host', seconds: 120 },
    async () => (await fetch(`${git.url}/api/healthz`).catch(() => undefined))?.ok,
  );
  const runGitea = (...args: string[]): Promise<string> =>
    runProcess('docker', ['exec', getContainerName(cluster, GIT), 'gitea', ...args]);
  return {
    registry,
    gitHost: {
      ...git,
      kind: 'gitea',
      nodeAddress: node,
      account: () => makeGiteaAccount(runGitea),
    },
  };
}

/** Removes both containers with their data. */
export async function removeServers(cluster: string): Promise<void> {
  for (const server of [REGISTRY, GIT])
    await canRun('docker', ['rm', '--force', '--volumes', getContainerName(cluster, server)]);
}

async function start(
  cluster: string,
  server: Server,
  isMapped: boolean,
  environment: Record<string, string>,
): Promise<void> {
  const name = getContainerName(cluster, server);
  if (await canRun('docker', ['start', name])) return;
  const settings = Object.entries(environment).flatMap(([key, value]) => [
    '--env',
    `${key}=${value}`,
  ]);
  const published = isMapped
    ? ['--publish', `127.0.0.1:${chooseKindPorts(cluster)[server.kind]}:${server.port}`]
    : [];
  const network = ['--network', NETWORK, '--network-alias', server.host];
  await runProcess('docker', [
    'run',
    '--detach',
    '--restart=always',
    '--name',
    name,
    ...network,
    ...published,
    ...settings,
    server.image,
  ]);
}

async function readServer(
  cluster: string,
  server: Server,
  isMapped: boolean,
): Promise<ClusterHost> {
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  const address = (
    await runProcess('docker', ['inspect', '--format', format, getContainerName(cluster, server)])
  ).trim();
  return {
    name: `${server.host}:${server.port}`,
    url: isMapped
      ? `http://127.0.0.1:${chooseKindPorts(cluster)[server.kind]}`
      : `http://${address}:${server.port}`,
    peer: { cidr: `${address}/32`, port: server.port },
  };
}
