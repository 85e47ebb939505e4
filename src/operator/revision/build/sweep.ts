import { setTimeout as wait } from 'node:timers/promises';
import { buildNamespaces } from '../../../config/platform/builder.ts';
import { toError } from '../../../errors.ts';
import { buildObjectKey } from '../../../kube/cache.ts';
import { kinds } from '../../../kube/kinds.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { Log } from '../../../log.ts';
import {
  AGENTS_NAMESPACE,
  COMPONENT,
  REVISION,
  REVISION_UID,
} from '../../../schema/platform/objects/labels.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { isJobOver } from './by-job.ts';

type Options = OperatorDeps & {
  log: Log;
  /** Milliseconds between two sweeps. An object without a revision in both is removed. */
  every: number;
};

/**
 * Removes credentials of builds that have ended, until the signal is aborted, and builds whose revision is gone. Some
 * of these are left where finalizers were removed.
 */
export async function sweepBuilds(options: Options, signal: AbortSignal): Promise<void> {
  let suspects = new Set<string>();
  while (!signal.aborted && options.settings.builder !== undefined) {
    await wait(options.every, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      suspects = await sweepOnce(options, suspects, signal);
    } catch (error) {
      options.log.warn({ err: toError(error) }, 'builds not swept');
    }
  }
}

async function sweepOnce(
  { kube, caches, settings, writer, log }: Options,
  suspects: Set<string>,
  signal: AbortSignal,
): Promise<Set<string>> {
  const jobs: KubeObject[] = [];
  const secrets: KubeObject[] = [];
  for (const namespace of buildNamespaces(settings.builder)) {
    const scope = { namespace, labelSelector: `${COMPONENT}=build,${REVISION_UID}` };
    // A Job that begins after this look has a Secret that is younger than the look before.
    secrets.push(...(await kube.listAll(kinds.secret, scope, signal)));
    jobs.push(...(await kube.listAll(kinds.job, scope, signal)));
  }
  const isLost = ({ metadata }: KubeObject): boolean => {
    const revision = caches.revisions.get(
      `${metadata.annotations?.[AGENTS_NAMESPACE]}/${metadata.annotations?.[REVISION]}`,
    );
    return revision?.metadata.uid !== metadata.labels?.[REVISION_UID];
  };
  const underWay = new Set(
    jobs.filter((job) => !isJobOver(job)).map(({ metadata }) => buildObjectKey(metadata)),
  );
  const lost = [
    ...jobs.filter(isLost),
    ...secrets.filter((secret) => isLost(secret) || !underWay.has(buildObjectKey(secret.metadata))),
  ];
  for (const object of lost.filter(({ metadata }) => suspects.has(metadata.uid ?? ''))) {
    await writer.remove(object, signal);
    log.info({ kind: object.kind, name: object.metadata.name }, 'remains of a build removed');
  }
  return new Set(lost.map(({ metadata }) => metadata.uid ?? ''));
}
