import { existsSync } from 'node:fs';
import { runProcess } from '../../commands.ts';
import { extendEnvironment } from '../../env.ts';
import { makeGiteaAccount } from '../gitea-account.ts';
import type { ClusterHost, GitHost, RegistryHost } from '../provider.ts';
import { getStatePaths } from './layout.ts';
import { GIT_HOST, GIT_PORT, readGitHostAccount } from './parts/git-host.ts';
import { GITEA, GITEA_PORT, getGiteaSettingsPath } from './parts/gitea.ts';
import { REGISTRY, REGISTRY_PORT, readRegistryAccount } from './parts/registry.ts';
import { requireTool, type NodeRecord } from './record.ts';

const buildHost = ({ layout }: NodeRecord, port: number): Omit<ClusterHost, 'name'> => ({
  url: `http://${layout.nodeAddress}:${port}`,
  peer: { cidr: `${layout.nodeAddress}/32`, port },
});

/** Returns the registry of a native cluster, a process of its node. */
export const buildRegistryHost = (record: NodeRecord): RegistryHost => ({
  name: REGISTRY,
  ...buildHost(record, REGISTRY_PORT),
  account: readRegistryAccount(record.layout),
});

/** Returns the git host of a native cluster, a process of its node: Gitea where somebody wants it. */
export const chooseGitHost = (record: NodeRecord): GitHost =>
  existsSync(getStatePaths(record.layout).wanted('gitea'))
    ? buildGitea(record)
    : buildPlainGitHost(record);

/** Returns the address at which a server answers once it is there. */
export function buildHealthUrl(record: NodeRecord, server: 'registry' | 'git' | 'gitea'): string {
  const { port, path } = {
    registry: { port: REGISTRY_PORT, path: '/v2/' },
    git: { port: GIT_PORT, path: '/healthz' },
    gitea: { port: GITEA_PORT, path: '/api/healthz' },
  }[server];
  return `${buildHost(record, port).url}${path}`;
}

const buildPlainGitHost = (record: NodeRecord): GitHost => ({
  kind: 'github',
  name: GIT_HOST,
  ...buildHost(record, GIT_PORT),
  nodeAddress: record.layout.nodeAddress,
  account: () => Promise.resolve(readGitHostAccount(record.layout)),
});

// Its command line works on the same files.
const buildGitea = (record: NodeRecord): GitHost => ({
  kind: 'gitea',
  name: GITEA,
  ...buildHost(record, GITEA_PORT),
  nodeAddress: record.layout.nodeAddress,
  account: () =>
    makeGiteaAccount((...args) =>
      runProcess(
        requireTool(record, 'gitea'),
        [...args, '--config', getGiteaSettingsPath(record.layout)],
        {
          env: extendEnvironment({ HOME: record.layout.state }),
        },
      ),
    ),
});
