import type { RevisionResource } from '../../schema/custom-resources.ts';
import { newestFirst } from '../../schema/revision-of.ts';
import { isEnded } from '../deployment/history.ts';

export type Turn = 'go' | 'wait' | 'skip';

/** Its rollout has begun: it holds the one place there is. */
export const hasStarted = ({ status }: RevisionResource): boolean => status?.startedAt !== undefined;

/**
 * Whose turn it is among a deployment's revisions: one rollout at a time. One under way goes on; of those that wait only the newest
 * will get its turn, the others are skipped (pure).
 */
export function turnOf(revision: RevisionResource, siblings: RevisionResource[]): Turn {
  const open = newestFirst(siblings).filter((other) => !isEnded(other));
  const running = open.find(hasStarted);
  if (running?.metadata.name === revision.metadata.name) return 'go';
  const isNewest = newestFirst(siblings)[0]?.metadata.name === revision.metadata.name;
  if (!isNewest) return 'skip';
  return running === undefined ? 'go' : 'wait';
}
