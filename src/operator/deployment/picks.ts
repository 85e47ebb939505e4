import { ROLLED_OUT } from '../../schema/conditions.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { newestFirst, revisionOf, templateHash } from '../../schema/revision-of.ts';
import { ENDED } from '../../schema/revision.ts';
import { isTrue } from '../kernel/conditions.ts';

export const isEnded = ({ status }: RevisionResource): boolean => status?.phase !== undefined && ENDED.includes(status.phase);

/** The revision that the deployment's present template asks for and nobody has made yet. */
export function missingRevision(deployment: DeploymentResource, revisions: RevisionResource[]): RevisionResource | undefined {
  const newest = newestFirst(revisions)[0];
  if (newest?.spec.hash === templateHash(deployment)) return undefined;
  const wanted = revisionOf(deployment);
  // A deployment seen late must not bring back a revision that was already collected.
  return newest !== undefined && newest.spec.number >= wanted.spec.number ? undefined : wanted;
}

/** The newest revision whose pods are all there: the one to serve. An earlier one stays until then. */
export function activeOf(revisions: RevisionResource[], current: string | undefined): RevisionResource | undefined {
  const fit = (revision: RevisionResource): boolean =>
    isTrue(revision, ROLLED_OUT) && (revision.status?.phase === 'DEPLOYED' || !isEnded(revision));
  const ordered = newestFirst(revisions);
  return ordered.find(fit) ?? ordered.find(({ metadata }) => metadata.name === current);
}

export type History = { limit: number; days: number; now: Date };

/**
 * Revisions to be collected, failed ones among them: beyond the limit, or ended too long ago. The serving one, the one that served before it,
 * the newest one and those under way stay (pure).
 */
export function outdated(revisions: RevisionResource[], active: string | undefined, { limit, days, now }: History): RevisionResource[] {
  const ordered = newestFirst(revisions);
  const former = ordered.slice(ordered.findIndex(({ metadata }) => metadata.name === active) + 1);
  const previous = active === undefined ? undefined : former.find(({ status }) => status?.phase === 'DEPLOYED');
  const history = ordered
    .slice(1)
    .filter((revision) => isEnded(revision) && revision.metadata.name !== active && revision.metadata.deletionTimestamp === undefined);
  const oldest = now.getTime() - days * 86_400_000;
  const isOld = ({ status }: RevisionResource): boolean => Date.parse(status?.endedAt ?? now.toISOString()) < oldest;
  return history.filter((revision, index) => revision !== previous && (index >= limit || isOld(revision)));
}
