import { join } from 'node:path';
import { fileOf, type Layout } from '../layout.ts';
import type { NodePart } from '../node-part.ts';

/** The port at which the registry answers, at the node's address. */
export const REGISTRY_PORT = 5000;

/** What pods and containerd call the registry of a native cluster. Both reach it over plain HTTP. */
export const REGISTRY = `registry.gx-platform.local:${REGISTRY_PORT}`;

/** Where containerd looks for a `hosts.toml` of each registry. */
export const registriesFolder = (layout: Layout): string => fileOf(layout).config('registries');

/** Runs a registry for what is built in the cluster, and tells containerd where it is. */
export const registry: NodePart = {
  files: ({ layout }) => ({
    [fileOf(layout).config('registry.yaml')]: configuration(layout),
    [join(registriesFolder(layout), REGISTRY, 'hosts.toml')]: `server = "http://${layout.nodeAddress}:${REGISTRY_PORT}"\n`,
  }),
  processes: (layout) => [{ name: 'registry', tool: 'registry', args: ['serve', fileOf(layout).config('registry.yaml')] }],
};

const configuration = (layout: Layout): string => `version: 0.1
log:
  level: warn
  accesslog:
    disabled: true
storage:
  delete:
    enabled: true
  filesystem:
    rootdirectory: ${fileOf(layout).registry}
http:
  addr: 0.0.0.0:${REGISTRY_PORT}
`;
