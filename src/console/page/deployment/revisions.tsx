import { useSignal } from '@preact/signals';
import type { Revision } from '../../../schema/platform/revision.ts';
import { useApp } from '../shell/app.ts';
import { Time } from '../shell/time.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { originText, REVISION_WORDS, rolloutSteps } from './revision-words.ts';
import { reasonMeaning } from './reason-meaning.ts';
import { RevisionDetailsShown } from './revision-details-shown.tsx';
import { RollBack } from './roll-back.tsx';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';

/** The revisions, newest first, with the reason of each failure in its place. */
export function Revisions({ detail }: { detail: DeploymentDetail }) {
  const target = useSignal<Revision | undefined>(undefined);
  const { value: revisions } = detail.revisions;
  if (revisions.length === 0) return <p>There are no revisions yet.</p>;
  return (
    <>
      <ol class="timeline" aria-label="Revisions, newest first" reversed>
        {revisions.map((revision, index) => (
          <RevisionShown
            key={revision.id}
            detail={detail}
            revision={revision}
            isNewest={index === 0}
            rollBack={() => (target.value = revision)}
          />
        ))}
      </ol>
      {target.value !== undefined && <RollBack detail={detail} target={target.value} close={() => (target.value = undefined)} />}
    </>
  );
}

type ShownProps = { detail: DeploymentDetail; revision: Revision; isNewest: boolean; rollBack: () => void };

function RevisionShown({ detail, revision, isNewest, rollBack }: ShownProps) {
  const { word, icon, look } = REVISION_WORDS[revision.status];
  const isServing = detail.details.value?.active_revision?.id === revision.id;
  return (
    <li class={isServing ? 'serves' : ''}>
      <h2>
        <span class={`state ${look}`}>
          <span class="icon" aria-hidden="true">
            {icon}
          </span>
          {word}
        </span>{' '}
        <span class="mono">{originText(revision)}</span> {isServing && <strong class="mark">serves now</strong>}
      </h2>
      <p class="quiet">
        <Time at={revision.created_at} /> · <span class="mono">{revision.id.slice(0, 8)}</span>
        {revision.build_seconds !== null && ` · built in ${revision.build_seconds} s`}
      </p>
      <Steps revision={revision} />
      {revision.status_message !== null && <p>{revision.status_message}</p>}
      <Failure revision={revision} isOpen={isNewest} />
      <RevisionDetailsShown deployment={detail.id} revision={revision.id} />
      <Actions detail={detail} revision={revision} isServing={isServing} rollBack={rollBack} />
    </li>
  );
}

function Steps({ revision }: { revision: Revision }) {
  const steps = rolloutSteps(revision);
  if (steps.length === 0) return null;
  return (
    <ol class="steps" aria-label="Steps of the rollout">
      {steps.map(({ label, is }) => (
        <li key={label} class={is.replace(' ', '-')} aria-current={is === 'current' ? 'step' : undefined}>
          {is === 'done' ? '✓ ' : is === 'current' ? '↻ ' : ''}
          {label}
        </li>
      ))}
    </ol>
  );
}

/** Shows the parts of a text between backticks as code. */
const inCode = (text: string) => text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));

function Failure({ revision, isOpen }: { revision: Revision; isOpen: boolean }) {
  const meaning = revision.reason === null ? undefined : reasonMeaning(revision.reason);
  return (
    <>
      {meaning !== undefined && (
        <p class="note">
          <strong>{revision.reason}</strong>: {inCode(`${meaning.means} ${meaning.remedy}`)}
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

function Actions({ detail, revision, isServing, rollBack }: Omit<ShownProps, 'isNewest'> & { isServing: boolean }) {
  const { calls, router, mayWrite } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const serving = detail.details.value?.active_revision?.id;
  const steps = rolloutSteps(revision);
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/revisions/${revision.id}`;
  const interrupt = (): Promise<unknown> => calls.json(`${path}/interrupt`, { method: 'POST' });
  return (
    <div class="actions">
      {steps.length > 0 && (
        <button type="button" class="danger" disabled={isOff} onClick={() => void run(interrupt, 'The revision is being given up.')}>
          Interrupt
        </button>
      )}
      {!isServing && steps.length === 0 && (
        <button type="button" disabled={!mayWrite || detail.goneAt.value !== undefined} onClick={rollBack}>
          Roll back to this
        </button>
      )}
      {!isServing && serving !== undefined && (
        <a href={router.href('compare', { id: detail.id, from: serving, to: revision.id })}>Compare with the serving one</a>
      )}
      {revision.source === 'git' && <a href={router.href('buildLog', { id: detail.id, revision: revision.id })}>Build log</a>}
      {refused !== undefined && <WriteNotes detail={detail} refused={refused} />}
    </div>
  );
}
