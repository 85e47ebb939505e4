import { setTimeout as wait } from 'node:timers/promises';
import { asError } from '../../errors.ts';
import { kinds, type KubeObject } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import { SECRETS_OF } from '../../schema/labels.ts';
import type { OperatorDeps } from '../deps.ts';
import { unreferenced } from './unreferenced.ts';

export type SweepOptions = OperatorDeps & {
  log: Log;
  namespaces: string[];
  /** Milliseconds between two looks; a Secret that nothing names at both is removed. */
  every: number;
};

/** Removes the Secrets of changes that never came to anything, until the signal is aborted. */
export async function sweepSecrets(options: SweepOptions, signal: AbortSignal): Promise<void> {
  let suspects = new Set<string>();
  while (!signal.aborted) {
    await wait(options.every, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      suspects = await sweep(options, suspects, signal);
    } catch (error) {
      options.log.warn({ err: asError(error) }, 'secrets not swept');
    }
  }
}

/** One look: removes those already under suspicion, and returns the new suspects. */
export async function sweep(
  { kube, caches, writer, log, namespaces, every }: SweepOptions,
  suspects: Set<string>,
  signal: AbortSignal,
): Promise<Set<string>> {
  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  const secrets = await Promise.all(places.map((place) => kube.all(kinds.secret, { ...place, labelSelector: SECRETS_OF }, signal)));
  const idle = unreferenced(secrets.flat() as KubeObject[], caches);
  const old = idle.filter(({ metadata }) => Date.now() - Date.parse(metadata.creationTimestamp ?? '') > every);
  for (const secret of old.filter(({ metadata }) => suspects.has(metadata.uid ?? ''))) {
    await writer.remove(secret, signal);
    log.info({ namespace: secret.metadata.namespace, secret_name: secret.metadata.name }, 'unused secret removed');
  }
  return new Set(old.map(({ metadata }) => metadata.uid ?? ''));
}
