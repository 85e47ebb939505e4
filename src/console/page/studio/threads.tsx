import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { failureText } from '../api/failure-text.ts';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import { useStudio } from './studio-parts.ts';
import type { PageOfThreads, PlaceInThreads } from './agent.ts';
import type { StudioThread } from './agent-answers.ts';

const STATUSES = { '': 'All', interrupted: 'Waiting for somebody', busy: 'Running', idle: 'Idle', error: 'Failed' };

/** The threads of the agent, a page at a time, however many there are. */
export function Threads() {
  const { agent } = useStudio();
  const status = useSignal('');
  /** Where the page begins that is shown, and behind it those of the newer ones. */
  const places = useSignal<(PlaceInThreads | undefined)[]>([undefined]);
  const found = useSignal<PageOfThreads | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const read = async (from: PlaceInThreads | undefined, signal: AbortSignal): Promise<void> => {
    try {
      found.value = await agent.threads({ status: status.value, from, signal });
      refused.value = undefined;
    } catch (error) {
      if (!signal.aborted) refused.value = failureText(error);
    }
  };
  useEffect(() => {
    const leaving = new AbortController();
    void read(places.value[0], leaving.signal);
    return () => leaving.abort();
  }, [agent, status.value, places.value]);
  const { threads = [], next } = found.value ?? {};
  const choose = (chosen: string): void => {
    status.value = chosen;
    places.value = [undefined];
  };
  return (
    <section>
      <h2>Threads</h2>
      <StatusFilter status={status.value} choose={choose} />
      {refused.value !== undefined && (
        <p class="fault" role="alert">
          {refused.value}
        </p>
      )}
      {found.value === undefined && refused.value === undefined ? <p aria-busy="true" /> : <ThreadTable threads={threads} />}
      <p class="pages">
        <button type="button" disabled={places.value.length === 1} onClick={() => (places.value = places.value.slice(1))}>
          Newer ones
        </button>{' '}
        <button type="button" disabled={next === undefined} onClick={() => (places.value = [next, ...places.value])}>
          Older ones
        </button>
      </p>
    </section>
  );
}

function StatusFilter({ status, choose }: { status: string; choose: (status: string) => void }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label class="select">
        <span>Status</span>
        <select value={status} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {Object.entries(STATUSES).map(([word, label]) => (
            <option key={word} value={word}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

function ThreadTable({ threads }: { threads: readonly StudioThread[] }) {
  const { href } = useStudio();
  if (threads.length === 0) return <p>There are none.</p>;
  return (
    <Table heads={['Thread', 'Status', 'Changed', 'Begins with']}>
      {threads.map(({ id: thread, status, changedAt, title }) => (
        <tr key={thread}>
          <th scope="row" class="mono">
            <a href={href(thread)}>{thread}</a>
          </th>
          <td>{status}</td>
          <td>
            <Time at={changedAt} />
          </td>
          <td>{title}</td>
        </tr>
      ))}
    </Table>
  );
}
