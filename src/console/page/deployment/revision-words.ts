import type { RevisionStatus } from '../../../schema/platform/deployment/statuses.ts';
import type { Revision } from '../../../schema/platform/deployment/revision.ts';
import type { IconName } from '../shell/icons.ts';
import { formatCommit, formatImage } from '../deployments/source-text.ts';

/** How a status of a revision is shown: the word, and the colour of the state that it resembles. */
export const REVISION_WORDS: Record<
  RevisionStatus,
  { word: string; icon: IconName; look: 'serving' | 'failed' | 'rolling_out' | 'asleep' }
> = {
  CREATING: { word: 'Creating', icon: 'turn', look: 'rolling_out' },
  QUEUED: { word: 'Queued', icon: 'clock', look: 'rolling_out' },
  AWAITING_BUILD: { word: 'Waiting for the builder', icon: 'clock', look: 'rolling_out' },
  BUILDING: { word: 'Building', icon: 'turn', look: 'rolling_out' },
  AWAITING_DEPLOY: { word: 'Waiting to start', icon: 'clock', look: 'rolling_out' },
  DEPLOYING: { word: 'Starting', icon: 'turn', look: 'rolling_out' },
  CREATE_FAILED: { word: 'Not created', icon: 'cross', look: 'failed' },
  BUILD_FAILED: { word: 'Build failed', icon: 'cross', look: 'failed' },
  DEPLOY_FAILED: { word: 'Failed', icon: 'cross', look: 'failed' },
  DEPLOYED: { word: 'Deployed', icon: 'check', look: 'serving' },
  SKIPPED: { word: 'Skipped', icon: 'minus', look: 'asleep' },
  INTERRUPTED: { word: 'Interrupted', icon: 'minus', look: 'asleep' },
  UNKNOWN: { word: 'Unknown', icon: 'question', look: 'asleep' },
};

/** The steps of a rollout, in order. One of an image has no build. */
const STEPS: readonly { label: string; statuses: readonly RevisionStatus[]; ofGit?: true }[] = [
  { label: 'Queued', statuses: ['CREATING', 'QUEUED'] },
  { label: 'Build', statuses: ['AWAITING_BUILD', 'BUILDING'], ofGit: true },
  { label: 'Start', statuses: ['AWAITING_DEPLOY', 'DEPLOYING'] },
  { label: 'Serve', statuses: ['DEPLOYED'] },
];

export type StepShown = { label: string; is: 'done' | 'current' | 'to come' };

/** Returns how far a revision is that has not ended. None: it has. */
export function listRolloutSteps({
  status,
  source,
}: Pick<Revision, 'status' | 'source'>): StepShown[] {
  const steps = STEPS.filter(({ ofGit }) => ofGit === undefined || source === 'git');
  const current = steps.findIndex(({ statuses }) => statuses.includes(status));
  if (current < 0 || status === 'DEPLOYED') return [];
  return steps.map(({ label }, index) => ({
    label,
    is: index < current ? 'done' : index === current ? 'current' : 'to come',
  }));
}

/** Returns a revision's number and origin, as titles and choices name it. */
export const formatRevisionTitle = (revision: Revision): string =>
  `#${revision.number} · ${formatOrigin(revision)}`;

/** Returns a line on where a revision comes from: its commit or its image. */
export function formatOrigin({
  source,
  source_revision_config: config,
  image_digest,
}: Revision): string {
  const image = formatImage(config.image_uri);
  const digest =
    image_digest === null ? '' : ` @${image_digest.replace(/^sha256:/, '').slice(0, 12)}`;
  if (source !== 'git') return `${image}${image.includes('@') ? '' : digest}`;
  const ref = (config.repo_ref ?? '').replace(/^refs\/tags\//, '');
  return [ref, formatCommit(config.repo_commit_sha)].filter((part) => part !== '').join(' @ ');
}

/** Returns the fields of a revision that its successor may have otherwise. */
export const pickComparedFields = ({
  source_revision_config,
  image_digest,
  builder_version,
}: Revision): object => ({
  ...source_revision_config,
  image_digest,
  builder_version,
});

/** Returns whether a revision came to nothing, so that its repetition may, too. */
export const hasFailed = ({ status }: Pick<Revision, 'status'>): boolean =>
  REVISION_WORDS[status].look === 'failed';

/**
 * Returns the name of the button that asks for a revision once more. The newest one has the
 * wanted spec, whether it serves or not: it can only be tried again. A rollout has steps of its own.
 */
export function getRepeatLabel(
  revision: Pick<Revision, 'status' | 'source'>,
  { isNewest, isServing }: { isNewest: boolean; isServing: boolean },
): string | undefined {
  if (listRolloutSteps(revision).length > 0) return undefined;
  if (!isNewest) return isServing ? 'Go back to this (serves now)' : 'Roll back to this';
  const hasEnded = hasFailed(revision) || revision.status === 'INTERRUPTED';
  return hasEnded && !isServing ? 'Try again' : undefined;
}
