import { ROLLED_OUT } from '../../schema/conditions.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { newestFirst } from '../../schema/revision-of.ts';
import { ENDED } from '../../schema/revision.ts';
import { isTrue } from '../kernel/conditions.ts';

export const isEnded = ({ status }: RevisionResource): boolean => status?.phase !== undefined && ENDED.includes(status.phase);

/** Its rollout has begun: it holds the one place there is. */
export const hasStarted = ({ status }: RevisionResource): boolean => status?.startedAt !== undefined;

/** What the pods of a revision run: built, repeated, or named by its spec. */
export const imageOf = ({ spec, status }: RevisionResource): string | undefined =>
  status?.image ?? spec.template.sourceRevisionConfig?.imageUri;

/** The newest revision whose pods are all there: the one to serve. An earlier one stays until then. */
export function activeOf(revisions: RevisionResource[], current: string | undefined): RevisionResource | undefined {
  const fit = (revision: RevisionResource): boolean =>
    isTrue(revision, ROLLED_OUT) && (revision.status?.phase === 'DEPLOYED' || !isEnded(revision));
  const ordered = newestFirst(revisions);
  return ordered.find(fit) ?? ordered.find(({ metadata }) => metadata.name === current);
}

/** What a revision may do beside its siblings: roll out, wait for another one, or be skipped. */
export type RolloutOrder = 'go' | 'wait' | 'skip';

/**
 * The place of a revision among those of its deployment: one rollout at a time. One that is under way goes on; of those that wait only the
 * newest gets to roll out, the others are skipped.
 */
export function rolloutOrderOf(revision: RevisionResource, siblings: RevisionResource[]): RolloutOrder {
  const open = newestFirst(siblings).filter((other) => !isEnded(other));
  const running = open.find(hasStarted);
  if (running?.metadata.name === revision.metadata.name) return 'go';
  const isNewest = newestFirst(siblings)[0]?.metadata.name === revision.metadata.name;
  if (!isNewest) return 'skip';
  return running === undefined ? 'go' : 'wait';
}
