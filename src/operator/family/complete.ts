import type { RevisionResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { isEnded } from '../deployment/history.ts';
import type { OperatorDeps } from './deps.ts';
import { isRolledOut } from '../pods/workload-state.ts';
import { decide } from '../revision/decide.ts';
import { observeRevision } from '../revision/observe.ts';
import { hasStarted } from '../revision/rollout-order.ts';

type Asked = { signal: AbortSignal; now: Date };

/**
 * Name of the one of a deployment's revisions that is under way and whose pods are all there, by what is seen now. Its own reconcile sees the same and
 * waits for the traffic, so that neither has to tell the other by a write.
 */
export async function completeRevision(deps: OperatorDeps, revisions: RevisionResource[], asked: Asked): Promise<string | undefined> {
  const { caches, settings } = deps;
  const revision = revisions.find((one) => hasStarted(one) && !isEnded(one));
  if (revision === undefined) return undefined;
  const { namespace, name } = revision.metadata;
  const workloads = [names.apiWorkload(name), names.queueWorkload(name)].map((workload) =>
    caches.workloads.get(`${namespace}/${workload}`),
  );
  if (!workloads.every(isRolledOut)) return undefined;
  const world = await observeRevision(deps, revision, asked);
  return decide({ revision, world, settings }).complete === true ? name : undefined;
}
