import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/platform/custom-resources.ts';
import type { RolloutMoveRequest } from '../../schema/platform/deployment.ts';
import { ROLLOUT } from '../../schema/platform/labels.ts';
import { moveOf, moveText, type RolloutMove } from '../../schema/platform/rollout-move.ts';
import type { Caller } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { jsonPatchOf } from '../json-patch.ts';
import { requestedBy } from '../requested-by.ts';

/** A change of a rollout that may be made. */
export type PlannedMove = { move: RolloutMove; revision: string };

/** Returns the move that a patch asks of a rollout by share. Undefined: nothing. Throws if it can't be done. */
export function plannedMove({ status }: DeploymentResource, asked: RolloutMoveRequest | null | undefined): PlannedMove | undefined {
  if (asked === null || asked === undefined) return undefined;
  const move = moveAsked(asked);
  const field = typeof move === 'number' ? 'share' : move;
  const { candidate, aborted } = status?.rollout ?? {};
  if (candidate === undefined) {
    const why = aborted === undefined ? 'no revision is tried out' : `revision ${aborted.revision} was given up`;
    throw new Rejected(`rollout.${field}: ${why}`);
  }
  if (candidate.promoted === true) throw new Rejected(`rollout.${field}: revision ${candidate.revision} is about to serve`);
  if (typeof move === 'number' && move <= candidate.share)
    throw new Rejected(`rollout.share: must be above ${candidate.share}, which it is now`);
  return { move, revision: candidate.revision };
}

/** Returns the one move of a request. Throws if it has none, or several. */
function moveAsked({ share, promote, abort }: RolloutMoveRequest): RolloutMove {
  const moves: RolloutMove[] = [
    ...(typeof share === 'number' ? [share] : []),
    ...(promote === true ? (['promote'] as const) : []),
    ...(abort === true ? (['abort'] as const) : []),
  ];
  const [move] = moves;
  if (move === undefined || moves.length > 1) throw new Rejected('rollout: needs exactly one of share, promote: true and abort: true');
  return move;
}

/** Asks the operator to move the revision that is tried out. */
export function moveRollout(
  { kube, stored }: Pick<ControlPlane, 'kube' | 'stored'>,
  { namespace, move, revision }: PlannedMove & { namespace: string | undefined },
  caller: Caller,
): Promise<RevisionResource> {
  const ref = { namespace, name: revision };
  return retryConflicts(
    () => kube.get(kinds.revision, ref),
    async (live) => {
      const before = moveOf(live.metadata.annotations?.[ROLLOUT]);
      if (before === 'abort' || before === 'promote') throw new Rejected(`rollout: somebody has asked for ${before} already`);
      const annotations = { ...live.metadata.annotations, ...requestedBy(caller), [ROLLOUT]: moveText(move) };
      const guard = { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion } as const;
      const patch = [guard, ...jsonPatchOf(live.metadata.annotations, annotations, '/metadata/annotations')];
      return stored.note.revision(await kube.jsonPatch(kinds.revision, ref, patch));
    },
  );
}
