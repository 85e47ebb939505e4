import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { failureText } from '../api/failure-text.ts';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import { useStudio } from './studio-parts.ts';
import type { PageOfThreads, PlaceInThreads } from './agent.ts';
import type { StudioThread } from './agent-answers.ts';
import { Fault, Button, Select } from '../shell/controls.tsx';

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
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Select label="Status" value={status.value} options={Object.entries(STATUSES)} choose={choose} />
      </form>
      <Fault text={refused.value} />
      {found.value === undefined && refused.value === undefined ? <p aria-busy="true" /> : <ThreadTable threads={threads} />}
      <p class="pages">
        <Button disabled={places.value.length === 1} label="Newer ones" press={() => (places.value = places.value.slice(1))} />{' '}
        <Button disabled={next === undefined} label="Older ones" press={() => (places.value = [next, ...places.value])} />
      </p>
    </section>
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
