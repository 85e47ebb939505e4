import { ROLLED_OUT } from '../../schema/platform/objects/conditions.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { sortRevisions } from '../../schema/platform/resources/revision-of.ts';
import { ENDED } from '../../schema/platform/deployment/statuses.ts';
import { isTrue } from '../kernel/conditions.ts';

export const isEnded = ({ status }: RevisionResource): boolean =>
  status?.phase !== undefined && ENDED.includes(status.phase);

/** Returns true if its rollout has begun. Only one revision at a time rolls out. */
export const hasStarted = ({ status }: RevisionResource): boolean =>
  status?.startedAt !== undefined;

/** Returns the image that the pods of a revision run: built, repeated, or named by its spec. */
export const findRevisionImage = ({ spec, status }: RevisionResource): string | undefined =>
  status?.image ?? spec.template.sourceRevisionConfig?.imageUri;

/** Returns the revision to serve: the newest one whose pods are all there. An earlier one stays until then. */
export function chooseActiveRevision(
  revisions: RevisionResource[],
  current: string | undefined,
): RevisionResource | undefined {
  const isFit = (revision: RevisionResource): boolean =>
    isTrue(revision, ROLLED_OUT) && (revision.status?.phase === 'DEPLOYED' || !isEnded(revision));
  const ordered = sortRevisions(revisions);
  return ordered.find(isFit) ?? ordered.find(({ metadata }) => metadata.name === current);
}

/** Finds a revision by its name. */
export const findRevisionByName = (
  revisions: RevisionResource[],
  named: string | undefined,
): RevisionResource | undefined => revisions.find(({ metadata }) => metadata.name === named);

/** The turn of a revision among its siblings: to roll out, to wait for another one, or to be skipped. */
export type RolloutOrder = 'go' | 'wait' | 'skip';

/**
 * Returns the turn of a revision in its deployment, where one rolls out at a time. One under way continues. Of those
 * that wait, only the newest rolls out, and the others are skipped.
 */
export function decideRolloutOrder(
  revision: RevisionResource,
  siblings: RevisionResource[],
): RolloutOrder {
  const open = sortRevisions(siblings).filter((other) => !isEnded(other));
  const running = open.find(hasStarted);
  if (running?.metadata.name === revision.metadata.name) return 'go';
  const isNewest = sortRevisions(siblings)[0]?.metadata.name === revision.metadata.name;
  if (!isNewest) return 'skip';
  return running === undefined ? 'go' : 'wait';
}
