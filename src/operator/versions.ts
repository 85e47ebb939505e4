import { setTimeout as wait } from 'node:timers/promises';
import { StartError, Unavailable } from '../errors.ts';
import type { ConnectedKube } from '../kube/client.ts';
import { kinds, type LeaseObject } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import { versionIn } from '../schema/platform/crd.ts';
import { API_VERSION } from '../schema/platform/custom-resources.ts';
import { OPERATOR_VERSION } from '../schema/platform/labels.ts';
import { FIRST_VERSION, unsupportedJump } from './version-jump.ts';

type Given = {
  kube: Pick<ConnectedKube, 'find' | 'openApi'>;
  config: { namespace: string; leaseName: string };
  log: Pick<Log, 'warn'>;
  own: string;
};

/** Milliseconds until an API server that does not answer is asked again. */
const AGAIN = 1000;

/**
 * Throws if an operator of this version must not start beside the definitions and after the operator that are there.
 * It waits for an API server that is away, as the watches do.
 */
export async function requireSupportedJump(given: Given, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const fault = unsupportedJump(await foundVersions(given, signal));
      if (fault !== undefined) throw new StartError(fault);
      return;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      await wait(AGAIN, undefined, { signal });
    }
  }
}

async function foundVersions({ kube, config, log, own }: Given, signal: AbortSignal) {
  const lease = await kube.find(kinds.lease, { namespace: config.namespace, name: config.leaseName }, signal);
  const description = (await kube.openApi(API_VERSION, signal))?.components?.schemas?.[schemaName]?.description;
  if (description === undefined) log.warn('the version of the custom resource definitions is not known');
  return { own, definitions: versionIn(description), former: lease === undefined ? undefined : formerOf(lease) };
}

const schemaName = `${['dev.gx', ...API_VERSION.split('/').slice(1)].join('.')}.Deployment`;

const formerOf = ({ metadata }: LeaseObject): string => metadata.annotations?.[OPERATOR_VERSION] ?? FIRST_VERSION;
