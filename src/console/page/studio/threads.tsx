import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { failureText } from '../api/failure-text.ts';
import { useApp } from '../shell/app.ts';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import type { PageOfThreads, StudioAgent } from './agent.ts';
import type { StudioThread } from './agent-answers.ts';
import { threadTitle } from './state-text.ts';

const STATUSES = { '': 'All', interrupted: 'Waiting for somebody', busy: 'Running', idle: 'Idle', error: 'Failed' };

/** The threads of the agent, page by page. */
export function Threads({ agent, id }: { agent: StudioAgent; id: string }) {
  const status = useSignal('');
  const found = useSignal<PageOfThreads | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const read = async (from: string | undefined, signal: AbortSignal): Promise<void> => {
    try {
      const { threads, next } = await agent.threads({ status: status.value, from, signal });
      const before = from === undefined ? [] : (found.value?.threads ?? []);
      found.value = { threads: [...before, ...threads], next };
      refused.value = undefined;
    } catch (error) {
      if (!signal.aborted) refused.value = failureText(error);
    }
  };
  useEffect(() => {
    const leaving = new AbortController();
    void read(undefined, leaving.signal);
    return () => leaving.abort();
  }, [agent, status.value]);
  const { threads = [], next } = found.value ?? {};
  return (
    <section>
      <h2>Threads</h2>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="select">
          <span>Status</span>
          <select value={status.value} onChange={({ currentTarget }) => (status.value = currentTarget.value)}>
            {Object.entries(STATUSES).map(([word, label]) => (
              <option key={word} value={word}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </form>
      {refused.value !== undefined && (
        <p class="fault" role="alert">
          {refused.value}
        </p>
      )}
      {found.value === undefined && refused.value === undefined ? <p aria-busy="true" /> : <ThreadTable threads={threads} id={id} />}
      {next !== undefined && (
        <button type="button" onClick={() => void read(next, new AbortController().signal)}>
          Older ones
        </button>
      )}
    </section>
  );
}

function ThreadTable({ threads, id }: { threads: readonly StudioThread[]; id: string }) {
  const { router } = useApp();
  if (threads.length === 0) return <p>There are none.</p>;
  return (
    <Table heads={['Thread', 'Status', 'Changed', 'Begins with']}>
      {threads.map(({ id: thread, status, changedAt, metadata, values }) => (
        <tr key={thread}>
          <th scope="row" class="mono">
            <a href={router.href('thread', { id, thread })}>{thread}</a>
          </th>
          <td>{status}</td>
          <td>
            <Time at={changedAt} />
          </td>
          <td>{threadTitle(metadata, values)}</td>
        </tr>
      ))}
    </Table>
  );
}
