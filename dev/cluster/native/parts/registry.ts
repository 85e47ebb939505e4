import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RegistryAccount } from '../../provider.ts';
import { getStatePaths, type Layout } from '../layout.ts';
import { formatJson, type NodePart } from '../node-part.ts';

/** The port at which the registry answers, at the node's address. */
export const REGISTRY_PORT = 5000;

/** The name by which pods and containerd call the registry of a native cluster. Both reach it over plain HTTP. */
export const REGISTRY = `registry.gx-platform.local:${REGISTRY_PORT}`;

const USER = 'builds';

/** Where containerd looks for a `hosts.toml` of each registry. */
export const getRegistriesFolder = (layout: Layout): string =>
  getStatePaths(layout).config('registries');

/** Runs a registry for images that are built in the cluster, and tells containerd where it is. */
export const registry: NodePart = {
  extra: 'registry',
  files: ({ layout }) => ({
    ...buildPasswordFiles(layout, randomBytes(16).toString('hex')),
    [join(getRegistriesFolder(layout), REGISTRY, 'hosts.toml')]:
      `server = "http://${layout.nodeAddress}:${REGISTRY_PORT}"\n`,
  }),
  processes: (layout) => [
    {
      name: 'registry',
      tool: 'registry',
      args: ['serve', getStatePaths(layout).config('registry.yaml')],
    },
  ],
};

const getAccountPath = (layout: Layout): string =>
  getStatePaths(layout).config('registry-account.json');

/** Returns the account that may push; everybody may pull. */
export const readRegistryAccount = (layout: Layout): RegistryAccount =>
  JSON.parse(readFileSync(getAccountPath(layout), 'utf8')) as RegistryAccount;

const buildPasswordFiles = (layout: Layout, password: string): Record<string, string> => ({
  [getStatePaths(layout).config('registry.yaml')]: formatConfiguration(layout, password),
  [getAccountPath(layout)]: formatJson({ username: USER, password }),
});

const formatConfiguration = (layout: Layout, password: string): string => `version: 0.1
log:
  level: warn
  accesslog:
    disabled: true
storage:
  delete:
    enabled: true
  filesystem:
    rootdirectory: ${getStatePaths(layout).registry}
auth:
  writer:
    username: ${USER}
    password: ${password}
http:
  addr: 0.0.0.0:${REGISTRY_PORT}
`;
