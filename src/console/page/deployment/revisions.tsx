import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Calls } from '../api/calls.ts';
import type { Revision, RevisionDetails } from '../../../schema/platform/deployment/revision.ts';
import { useApp } from '../shell/app.ts';
import { Time } from '../shell/time.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import {
  formatOrigin,
  formatRevisionTitle,
  hasFailed,
  listRolloutSteps,
  getRepeatLabel,
  REVISION_WORDS,
} from './revision-words.ts';
import { findReasonMeaning } from './reason-meanings.ts';
import { renderCode } from './rendered-code.tsx';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { ComparedRevisions } from './compared-revisions.tsx';
import { StatePill } from '../deployments/state-shown.tsx';
import { Button, EmptyState, Fault, FoldedText } from '../shell/controls.tsx';
import { Icon } from '../shell/icon.tsx';
import type { ComponentChildren } from 'preact';
import { describeFailure } from '../api/failure-text.ts';

/** The revisions, newest first, with the reason of each failure in its place. */
export function Revisions({ detail }: { detail: DeploymentDetail }) {
  const target = useSignal<Revision | undefined>(undefined);
  const { value: revisions } = detail.revisions;
  if (revisions.length === 0)
    return <EmptyState icon="layers" title="There are no revisions yet." />;
  return (
    <>
      <ol class="timeline" aria-label="Revisions, newest first" reversed>
        {revisions.map((revision, index) => (
          <RevisionShown
            key={revision.id}
            detail={detail}
            revision={revision}
            isNewest={index === 0}
            previous={revisions[index + 1]}
            hasOrigin={index < WITH_ORIGIN}
            rollBack={() => (target.value = revision)}
          />
        ))}
      </ol>
      {target.value !== undefined && (
        <RollBack detail={detail} target={target.value} close={() => (target.value = undefined)} />
      )}
    </>
  );
}

/** The newest revisions, of which the page reads at once who made them and how long they took. */
const WITH_ORIGIN = 5;

type ShownProps = {
  detail: DeploymentDetail;
  revision: Revision;
  isNewest: boolean;
  /** The revision before it; undefined for the first one. */
  previous: Revision | undefined;
  rollBack: () => void;
};

function RevisionShown({
  detail,
  revision,
  isNewest,
  previous,
  hasOrigin,
  rollBack,
}: ShownProps & { hasOrigin: boolean }) {
  const { word, icon, look } = REVISION_WORDS[revision.status];
  const { active_revision: active, candidate } = detail.details.value ?? {};
  const isServing = active?.id === revision.id;
  const share = candidate?.revision_id === revision.id ? candidate.share : undefined;
  return (
    <li class={`${look}${isServing ? ' serves' : ''}`}>
      <h2>
        <span class="number">#{revision.number}</span>{' '}
        <StatePill look={look} icon={icon} word={word} />{' '}
        {isServing && <strong class="mark">serves now</strong>}{' '}
        {share !== undefined && <strong class="mark tried">{share} % of new threads</strong>}{' '}
        <span class="mono origin">{formatOrigin(revision)}</span>
      </h2>
      <p class="quiet">
        <Time at={revision.created_at} /> · <span class="mono">{revision.id.slice(0, 8)}</span>
        {revision.build_seconds !== null && ` · built in ${revision.build_seconds} s`}
        {hasOrigin && <RevisionOrigin deployment={detail.id} revision={revision} />}
      </p>
      <Steps revision={revision} />
      {revision.status_message !== null && <FoldedText text={revision.status_message} />}
      <Failure
        revision={revision}
        isOpen={isNewest}
        isNamedAbove={isNewest && detail.details.value?.reason === revision.reason}
      />
      <RevisionDetailsShown deployment={detail.id} revision={revision.id} />
      <Actions
        detail={detail}
        revision={revision}
        isServing={isServing}
        isNewest={isNewest}
        previous={previous}
        rollBack={rollBack}
      />
    </li>
  );
}

const LONGEST_MAKER = 60;

/** Who made a revision, and how long it took until it was deployed or had failed. */
function RevisionOrigin({ deployment, revision }: { deployment: string; revision: Revision }) {
  const { calls } = useApp();
  const read = useSignal<RevisionDetails | undefined>(undefined);
  useEffect(() => {
    // It is an addition: the revision is shown without it, too.
    fetchRevisionDetails(calls, deployment, revision.id).then(
      (details) => (read.value = details),
      () => undefined,
    );
  }, [deployment, revision.id, revision.status]);
  const { value: details } = read;
  if (details === undefined) return null;
  const { started_at: began, ended_at: ended } = details;
  const seconds = Math.round((Date.parse(ended ?? '') - Date.parse(began ?? '')) / 1000);
  return (
    <>
      {seconds > 0 && ` · took ${formatSeconds(seconds)}`}
      {` · by ${describeMaker(details).slice(0, LONGEST_MAKER)}`}
    </>
  );
}

const formatSeconds = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;

const describeMaker = ({ made_by: maker, push }: RevisionDetails): string =>
  maker ?? (push === null ? 'kubectl or a GitOps tool' : `push ${push}`);

const fetchRevisionDetails = (
  calls: Calls,
  deployment: string,
  revision: string,
): Promise<RevisionDetails> =>
  calls.fetchJson(`v2/deployments/${encodeURIComponent(deployment)}/revisions/${revision}`, {
    query: { view: 'full' },
  });

function Steps({ revision }: { revision: Revision }) {
  const steps = listRolloutSteps(revision);
  if (steps.length === 0) return null;
  return (
    <ol class="steps" aria-label="Steps of the rollout">
      {steps.map(({ label, is }) => (
        <li
          key={label}
          class={is.replace(' ', '-')}
          aria-current={is === 'current' ? 'step' : undefined}
        >
          {is === 'done' && <Icon name="check" />}
          {is === 'current' && <Icon name="turn" turns />} {label}
        </li>
      ))}
    </ol>
  );
}

/** `isNamedAbove`: the head of the page explains the reason already. */
function Failure({
  revision,
  isOpen,
  isNamedAbove,
}: {
  revision: Revision;
  isOpen: boolean;
  isNamedAbove: boolean;
}) {
  const meaning = findReasonMeaning(revision.reason);
  return (
    <>
      {meaning !== undefined && !isNamedAbove && (
        <p class="note">
          <strong>{revision.reason}</strong>: {renderCode(`${meaning.means} ${meaning.remedy}`)}
        </p>
      )}
      {revision.log_tail !== null && (
        <details open={isOpen}>
          <summary>Last log lines</summary>
          <pre tabIndex={0}>{revision.log_tail}</pre>
        </details>
      )}
    </>
  );
}

function Actions({
  detail,
  revision,
  isServing,
  isNewest,
  previous,
  rollBack,
}: ShownProps & { isServing: boolean }) {
  const { calls, router, mayWrite } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const serving = detail.details.value?.active_revision?.id;
  const steps = listRolloutSteps(revision);
  const repeat = getRepeatLabel(revision, { isNewest, isServing });
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/revisions/${revision.id}`;
  const cancelRevision = (): Promise<unknown> =>
    calls.fetchJson(`${path}/interrupt`, { method: 'POST' });
  return (
    <div class="actions">
      {steps.length > 0 && (
        <Button
          class="danger"
          disabled={isOff}
          label="Interrupt"
          press={() => run(cancelRevision, 'The revision is being interrupted.')}
        />
      )}
      {repeat !== undefined && (
        <Button
          disabled={!mayWrite || detail.goneAt.value !== undefined}
          label={repeat}
          press={rollBack}
        />
      )}
      {!isServing && serving !== undefined && (
        <a href={router.buildHref('compare', { id: detail.id, from: serving, to: revision.id })}>
          Compare with the serving one
        </a>
      )}
      {isServing && previous !== undefined && (
        <a
          href={router.buildHref('compare', { id: detail.id, from: previous.id, to: revision.id })}
        >
          Compare with the one before
        </a>
      )}
      {revision.source === 'git' && (
        <a href={router.buildHref('buildLog', { id: detail.id, revision: revision.id })}>
          Build log
        </a>
      )}
      {refused !== undefined && <WriteNotes detail={detail} refused={refused} />}
    </div>
  );
}

function RollBack({
  detail,
  target,
  close,
}: {
  detail: DeploymentDetail;
  target: Revision;
  close: () => void;
}) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const [newest] = detail.revisions.value;
  const serving = detail.revisions.value.find(
    ({ id }) => id === detail.details.value?.active_revision?.id,
  );
  // The one that serves is compared with the newest, whose place it takes.
  const isBackToServing = serving?.id === target.id;
  const before = isBackToServing ? newest : serving;
  const isRetry = target.id === newest?.id;
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/revisions/${target.id}/redeploy`;
  const rollBack = async (): Promise<void> => {
    const isMade = await run(
      () => calls.fetchJson(path, { method: 'POST' }),
      'It is being rolled back. A new revision repeats that one.',
    );
    if (isMade) close();
  };
  return (
    <Dialog
      title={
        isRetry
          ? `Try ${formatRevisionTitle(target)} again`
          : `Roll back to ${formatRevisionTitle(target)}`
      }
      close={close}
      wide
    >
      <p>
        A new revision repeats this one, with the secrets and sizes that it had. The revisions in
        between stay in the list.
      </p>
      {hasFailed(target) && (
        <p class="note">
          This revision has failed{target.reason === null ? '' : ` (${target.reason})`}. Unless its
          cause is gone, it fails again.
        </p>
      )}
      {before === undefined ? (
        <p>No revision serves now, so there is nothing to compare it with.</p>
      ) : (
        <ComparedRevisions
          deployment={detail.id}
          from={before.id}
          to={target.id}
          heads={[
            `${isBackToServing ? 'Newest' : 'Serves now'} (#${before.number})`,
            'After the rollback',
          ]}
        />
      )}
      <WriteNotes detail={detail} refused={refused} />
      <div class="actions">
        <Button
          class="main"
          disabled={isOff}
          label={isRetry ? 'Try again' : 'Roll back'}
          press={() => rollBack()}
        />
        <Button label="Cancel" press={close} />
      </div>
    </Dialog>
  );
}

/** All that is known of a revision. It is read when somebody opens it. */
function RevisionDetailsShown({ deployment, revision }: { deployment: string; revision: string }) {
  const { calls } = useApp();
  const read = useSignal<RevisionDetails | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const open = ({ currentTarget }: { currentTarget: HTMLDetailsElement }): void => {
    if (!currentTarget.open) return;
    fetchRevisionDetails(calls, deployment, revision).then(
      (details) => (read.value = details),
      (error: unknown) => (refused.value = describeFailure(error)),
    );
  };
  return (
    <details onToggle={open}>
      <summary>Details</summary>
      <Fault text={refused.value} />
      {read.value !== undefined && <Facts details={read.value} />}
    </details>
  );
}

function Facts({ details }: { details: RevisionDetails }) {
  const renderTime = (at: string | null): ComponentChildren => at !== null && <Time at={at} />;
  const facts: [string, ComponentChildren][] = [
    ['Made by', describeMaker(details)],
    ['Repeats', details.rollback_of],
    ['Image', details.source_revision_config.image_uri],
    ['Digest', details.image_digest],
    ['Commit', details.source_revision_config.repo_commit_sha],
    ['Began', renderTime(details.started_at)],
    ['Built', renderTime(details.built_at)],
    ['Ended', renderTime(details.ended_at)],
    ['Server', details.server_version],
    ['Guard', details.guard],
    [
      'Secrets',
      details.secrets.length === 0 ? 'none' : details.secrets.map(({ name }) => name).join(', '),
    ],
  ];
  const sizes = stripNulls(details.resource_spec ?? {});
  return (
    <>
      <dl class="facts">
        {facts
          .filter(([, fact]) => fact !== null && fact !== undefined && fact !== false)
          .map(([name, fact]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{fact}</dd>
            </div>
          ))}
      </dl>
      {Object.keys(sizes).length > 0 && (
        <pre tabIndex={0} aria-label="Its sizes">
          {JSON.stringify(sizes, null, 2)}
        </pre>
      )}
    </>
  );
}

const stripNulls = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
