import type { OperatorSettings } from '../../config/platform/operator.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import {
  sortRevisions,
  buildRevision,
  hashTemplate,
} from '../../schema/platform/resources/revision-of.ts';
import { isEnded } from '../rollout/revisions.ts';

/** Returns the revision that the present template asks for and nobody has made yet. */
export function buildMissingRevision(
  deployment: DeploymentResource,
  revisions: RevisionResource[],
): RevisionResource | undefined {
  const newest = sortRevisions(revisions)[0];
  if (newest?.spec.hash === hashTemplate(deployment)) return undefined;
  const wanted = buildRevision(deployment);
  // A stale deployment must not bring back a revision that was already removed.
  return newest !== undefined && newest.spec.number >= wanted.spec.number ? undefined : wanted;
}

type History = { limit: number; days: number; now: Date };
/** Returns how many revisions a deployment keeps, and for how long. */
export const resolveHistory = ({
  deployment: { spec },
  settings,
  now,
}: {
  deployment: DeploymentResource;
  settings: OperatorSettings;
  now: Date;
}): History => ({
  limit: spec.revisionHistoryLimit ?? settings.revisionHistoryLimit,
  days: settings.revisionHistoryDays,
  now,
});

/**
 * Returns the revisions to be removed, which may have failed: those beyond the limit, or ended too long ago. The
 * serving one, the one that served before it, the newest one and those under way stay, and so do those that keep work.
 */
export function listOutdatedRevisions(
  revisions: RevisionResource[],
  active: string | undefined,
  { keeping = [], ...history }: History & { keeping?: readonly string[] },
): RevisionResource[] {
  const previous = findPrevious(revisions, active);
  return listEnded(revisions, active).filter(
    (revision, index) =>
      revision !== previous &&
      !keeping.includes(revision.metadata.name) &&
      (index >= history.limit || countDaysLeft(revision, history) < 0),
  );
}

/** Returns the seconds until the next of them is too old, at most a day. Undefined if none ever is. */
export function countSecondsToExpiry(
  revisions: RevisionResource[],
  active: string | undefined,
  history: History,
): number | undefined {
  const previous = findPrevious(revisions, active);
  const left = listEnded(revisions, active)
    .filter((revision) => revision !== previous)
    .map((revision) => countDaysLeft(revision, history));
  return left.length === 0
    ? undefined
    : Math.ceil(Math.min(1, Math.max(0, Math.min(...left))) * DAY) + 1;
}

const DAY = 86_400;

/** Returns the revisions that have ended, newest first, without the newest of all and the serving one. */
const listEnded = (revisions: RevisionResource[], active: string | undefined): RevisionResource[] =>
  sortRevisions(revisions)
    .slice(1)
    .filter(
      (revision) =>
        isEnded(revision) &&
        revision.metadata.name !== active &&
        revision.metadata.deletionTimestamp === undefined,
    );

function findPrevious(
  revisions: RevisionResource[],
  active: string | undefined,
): RevisionResource | undefined {
  const ordered = sortRevisions(revisions);
  const former = ordered.slice(ordered.findIndex(({ metadata }) => metadata.name === active) + 1);
  return active === undefined
    ? undefined
    : former.find(({ status }) => status?.phase === 'DEPLOYED');
}

const countDaysLeft = ({ status }: RevisionResource, { days, now }: History): number =>
  days - (now.getTime() - Date.parse(status?.endedAt ?? now.toISOString())) / 1000 / DAY;
