import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { INTERRUPT, RELEASE } from '../../schema/platform/objects/labels.ts';
import type { Caller } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { buildRequestedBy } from '../requested-by.ts';
import { hasEnded, isInterrupted, getRevisionStatus } from './resource.ts';

/**
 * Asks the operator for something by annotations of a revision. `asked` returns them for the revision as it is, or
 * undefined where it has been asked already, and throws where it can't be.
 */
export function annotateRevision(
  { kube, stored }: ControlPlane,
  {
    revision: { namespace, name },
    caller,
  }: { revision: { namespace?: string | undefined; name: string }; caller: Caller },
  asked: (live: RevisionResource) => Record<string, string> | undefined,
): Promise<RevisionResource> {
  const read = async () => {
    const live = await kube.get(kinds.revision, { namespace, name });
    return { live, more: asked(live) };
  };
  return retryConflicts(read, async ({ live, more }) => {
    if (more === undefined) return stored.note.revision(live);
    const annotations = { ...live.metadata.annotations, ...buildRequestedBy(caller), ...more };
    const guard = {
      op: 'replace',
      path: '/metadata/resourceVersion',
      value: live.metadata.resourceVersion,
    } as const;
    const patch = [
      guard,
      ...buildJsonPatch(live.metadata.annotations, annotations, '/metadata/annotations'),
    ];
    return stored.note.revision(await kube.patchJson(kinds.revision, { namespace, name }, patch));
  });
}

/** Asks the operator to give up a revision. A revision that has ended can't be interrupted. */
export const cancelRevision = (
  plane: ControlPlane,
  { metadata }: RevisionResource,
  caller: Caller,
): Promise<RevisionResource> =>
  annotateRevision(plane, { revision: metadata, caller }, (live) => {
    if (hasEnded(live))
      throw new Rejected(`revision: has already ended as ${getRevisionStatus(live)}`);
    return isInterrupted(live) ? undefined : { [INTERRUPT]: plane.now().toISOString() };
  });

/** Asks the operator to let the work of a replaced revision go. Only one that keeps some can be asked. */
export function release(
  plane: ControlPlane,
  {
    deployment,
    revision: { metadata },
  }: { deployment: DeploymentResource; revision: RevisionResource },
  caller: Caller,
): Promise<RevisionResource> {
  const keeps =
    deployment.status?.rollout?.draining.some(({ revision }) => revision === metadata.name) ===
    true;
  if (!keeps)
    throw new Rejected(
      'revision: keeps no work, because it serves, has not been replaced, or has none left',
    );
  return annotateRevision(plane, { revision: metadata, caller }, ({ metadata: { annotations } }) =>
    annotations?.[RELEASE] === undefined ? { [RELEASE]: plane.now().toISOString() } : undefined,
  );
}
