import { existsSync } from 'node:fs';
import { command } from '../../commands.ts';
import { environmentWith } from '../../env.ts';
import { makeGiteaAccount } from '../gitea-account.ts';
import type { ClusterHost, GitHost, RegistryHost } from '../provider.ts';
import { fileOf } from './layout.ts';
import { GIT_HOST, GIT_PORT, gitHostAccount } from './parts/git-host.ts';
import { GITEA, GITEA_PORT, giteaSettings } from './parts/gitea.ts';
import { REGISTRY, REGISTRY_PORT, registryAccount } from './parts/registry.ts';
import { toolOf, type NodeRecord } from './record.ts';

const at = ({ layout }: NodeRecord, port: number): Omit<ClusterHost, 'name'> => ({
  url: `http://${layout.nodeAddress}:${port}`,
  peer: { cidr: `${layout.nodeAddress}/32`, port },
});

/** Returns the registry of a native cluster, a process of its node. */
export const registryOf = (record: NodeRecord): RegistryHost => ({
  name: REGISTRY,
  ...at(record, REGISTRY_PORT),
  account: registryAccount(record.layout),
});

/** Returns the git host of a native cluster, a process of its node: Gitea where somebody wants it. */
export const gitHostOf = (record: NodeRecord): GitHost =>
  existsSync(fileOf(record.layout).wanted('gitea')) ? giteaOf(record) : plainGitHostOf(record);

/** Returns the address at which a server answers once it is there. */
export function healthUrlOf(record: NodeRecord, server: 'registry' | 'git' | 'gitea'): string {
  const { port, path } = {
    registry: { port: REGISTRY_PORT, path: '/v2/' },
    git: { port: GIT_PORT, path: '/healthz' },
    gitea: { port: GITEA_PORT, path: '/api/healthz' },
  }[server];
  return `${at(record, port).url}${path}`;
}

const plainGitHostOf = (record: NodeRecord): GitHost => ({
  kind: 'github',
  name: GIT_HOST,
  ...at(record, GIT_PORT),
  nodeAddress: record.layout.nodeAddress,
  account: () => Promise.resolve(gitHostAccount(record.layout)),
});

// Its command line works on the same files.
const giteaOf = (record: NodeRecord): GitHost => ({
  kind: 'gitea',
  name: GITEA,
  ...at(record, GITEA_PORT),
  nodeAddress: record.layout.nodeAddress,
  account: () =>
    makeGiteaAccount((...args) =>
      command(toolOf(record, 'gitea'), [...args, '--config', giteaSettings(record.layout)], {
        env: environmentWith({ HOME: record.layout.state }),
      }),
    ),
});
