import { setTimeout as wait } from 'node:timers/promises';
import { buildNamespaces } from '../../../config/builder.ts';
import { asError } from '../../../errors.ts';
import { kinds, type KubeObject } from '../../../kube/kube.ts';
import type { Log } from '../../../log.ts';
import { AGENTS_NAMESPACE, COMPONENT, REVISION, REVISION_UID } from '../../../schema/labels.ts';
import type { OperatorDeps } from '../../family/deps.ts';

type Options = Pick<OperatorDeps, 'kube' | 'caches' | 'settings' | 'writer'> & {
  log: Log;
  /** Milliseconds between two sweeps. What no revision has in both is removed. */
  every: number;
};

/** Removes builds whose revision is gone, until the signal is aborted. Some are left where finalizers were removed. */
export async function sweepBuilds(options: Options, signal: AbortSignal): Promise<void> {
  let suspects = new Set<string>();
  while (!signal.aborted && options.settings.builder?.staged !== undefined) {
    await wait(options.every, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      suspects = await sweepOnce(options, suspects, signal);
    } catch (error) {
      options.log.warn({ err: asError(error) }, 'builds not swept');
    }
  }
}

async function sweepOnce(
  { kube, caches, settings, writer, log }: Options,
  suspects: Set<string>,
  signal: AbortSignal,
): Promise<Set<string>> {
  const made: KubeObject[] = [];
  for (const namespace of buildNamespaces(settings.builder)) {
    const scope = { namespace, labelSelector: `${COMPONENT}=build,${REVISION_UID}` };
    made.push(...(await kube.all(kinds.job, scope, signal)), ...(await kube.all(kinds.secret, scope, signal)));
  }
  const isLost = ({ metadata }: KubeObject): boolean => {
    const revision = caches.revisions.get(`${metadata.annotations?.[AGENTS_NAMESPACE]}/${metadata.annotations?.[REVISION]}`);
    return revision?.metadata.uid !== metadata.labels?.[REVISION_UID];
  };
  const lost = made.filter(isLost);
  for (const object of lost.filter(({ metadata }) => suspects.has(metadata.uid ?? ''))) {
    await writer.remove(object, signal);
    log.info({ name: object.metadata.name }, 'build without a revision removed');
  }
  return new Set(lost.map(({ metadata }) => metadata.uid ?? ''));
}
