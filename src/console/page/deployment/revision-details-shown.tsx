import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { RevisionDetails } from '../../../schema/platform/revision.ts';
import { useApp } from '../shell/app.ts';
import { Time } from '../shell/time.tsx';
import { failureText } from '../api/failure-text.ts';
import { Fault } from '../shell/controls.tsx';

type RevisionOf = { deployment: string; revision: string };

/** All that is known of a revision. It is read when somebody opens it. */
export function RevisionDetailsShown({ deployment, revision }: RevisionOf) {
  const { calls } = useApp();
  const read = useSignal<RevisionDetails | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const open = ({ currentTarget }: { currentTarget: HTMLDetailsElement }): void => {
    if (!currentTarget.open) return;
    calls.json<RevisionDetails>(`v2/deployments/${encodeURIComponent(deployment)}/revisions/${revision}`, { query: { view: 'full' } }).then(
      (details) => (read.value = details),
      (error: unknown) => (refused.value = failureText(error)),
    );
  };
  return (
    <details onToggle={open}>
      <summary>All about it</summary>
      <Fault text={refused.value} />
      {read.value !== undefined && <Facts details={read.value} />}
    </details>
  );
}

function Facts({ details }: { details: RevisionDetails }) {
  const time = (at: string | null): ComponentChildren => at !== null && <Time at={at} />;
  const facts: [string, ComponentChildren][] = [
    ['Number', details.number],
    ['Made by', details.made_by ?? (details.push === null ? 'kubectl or a GitOps tool' : `push ${details.push}`)],
    ['Repeats', details.rollback_of],
    ['Image', details.source_revision_config.image_uri],
    ['Digest', details.image_digest],
    ['Commit', details.source_revision_config.repo_commit_sha],
    ['Began', time(details.started_at)],
    ['Built', time(details.built_at)],
    ['Ended', time(details.ended_at)],
    ['Server', details.server_version],
    ['Guard', details.guard],
    ['Secrets', details.secrets.length === 0 ? 'none' : details.secrets.map(({ name }) => name).join(', ')],
  ];
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
      {details.resource_spec !== null && (
        <pre tabIndex={0} aria-label="Its sizes">
          {JSON.stringify(withoutNulls(details.resource_spec), null, 2)}
        </pre>
      )}
    </>
  );
}

const withoutNulls = (fields: object): object => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
