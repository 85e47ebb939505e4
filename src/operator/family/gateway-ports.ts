import { hash } from 'node:crypto';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { BY_PORT, type Caches } from './caches.ts';

/** Ports that no connection of the gateway's own begins at. */
const FIRST = 10_000;
const COUNT = 22_768;

/**
 * Returns the port at which the gateway answers in place of a deployment: the one that it has, unless an older one has
 * it too, or a free one. Undefined if all are taken.
 */
export function gatewayPortIn({ deployments }: Pick<Caches, 'deployments'>, deployment: DeploymentResource): number | undefined {
  const { uid = '', namespace, name } = deployment.metadata;
  const own = `${namespace}/${name}`;
  const others = (port: number): string[] => deployments.keysByIndex(BY_PORT, String(port)).filter((key) => key !== own);
  const known = deployment.status?.gatewayPort;
  const isKept = known !== undefined && others(known).every((key) => (deployments.get(key)?.metadata.uid ?? '') > uid);
  if (isKept) return known;
  const start = Number.parseInt(hash('sha256', uid).slice(0, 8), 16);
  for (let step = 0; step < COUNT; step += 1) {
    const port = FIRST + ((start + step) % COUNT);
    if (others(port).length === 0) return port;
  }
  return undefined;
}
