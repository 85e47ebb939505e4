import { command } from '../../commands.ts';
import { environmentWith } from '../../env.ts';
import type { ClusterHost, GitHost, RegistryHost } from '../provider.ts';
import { GIT_HOST, GIT_PORT, gitHostSettings } from './parts/git-host.ts';
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

/** Returns the git host of a native cluster, a process of its node. Its command line works on the same files. */
export const gitHostOf = (record: NodeRecord): GitHost => ({
  name: GIT_HOST,
  ...at(record, GIT_PORT),
  nodeAddress: record.layout.nodeAddress,
  command: (...args) =>
    command(toolOf(record, 'gitea'), [...args, '--config', gitHostSettings(record.layout)], {
      env: environmentWith({ HOME: record.layout.state }),
    }),
});
