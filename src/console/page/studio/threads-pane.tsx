import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { describeFailure } from '../api/failure-text.ts';
import { Button, EmptyState, Fault, Skeleton } from '../shell/controls.tsx';
import { Icon } from '../shell/icon.tsx';
import type { IconName } from '../shell/icons.ts';
import { Time } from '../shell/time.tsx';
import type { PageOfThreads, PlaceInThreads } from './agent.ts';
import type { StudioThread } from './agent-answers.ts';
import { useStudio } from './studio-parts.ts';

export const SECTIONS = {
  threads: { label: 'Threads', icon: 'answer' },
  assistants: { label: 'Assistants', icon: 'spark' },
  store: { label: 'Store', icon: 'book' },
  crons: { label: 'Crons', icon: 'clock' },
} as const satisfies Record<string, { label: string; icon: IconName }>;

const STATUSES = {
  '': 'All',
  interrupted: 'Waiting',
  busy: 'Running',
  idle: 'Idle',
  error: 'Failed',
};

/** The left pane: the parts of the studio, and the threads, those that wait for somebody first. */
export function ThreadsPane({ section, turns }: { section: string; turns: number }) {
  const { href } = useStudio();
  return (
    <aside class="threads" aria-label="Threads of the agent">
      <nav class="sections" aria-label="Parts of the studio">
        {Object.entries(SECTIONS).map(([name, { label, icon }]) => (
          <a
            key={name}
            href={href(name)}
            aria-current={
              name === section || (name === 'threads' && !(section in SECTIONS))
                ? 'page'
                : undefined
            }
          >
            <Icon name={icon} />
            {label}
          </a>
        ))}
      </nav>
      <a class="button" href={href('new')}>
        <Icon name="plus" />
        New chat
      </a>
      <Threads chosen={section} turns={turns} />
    </aside>
  );
}

/**
 * Reads a page of threads, again after each turn of the conversation beside it, and when the reader comes back to the
 * window. It asks nothing while nobody does anything: a page that is left open lets its agent fall asleep.
 */
function useThreads(
  status: Signal<string>,
  places: Signal<(PlaceInThreads | undefined)[]>,
  turns: number,
) {
  const { agent } = useStudio();
  const found = useSignal<PageOfThreads | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const read = async (): Promise<void> => {
      try {
        found.value = await agent.listThreads({
          status: status.value,
          from: places.value[0],
          signal,
        });
        refused.value = undefined;
      } catch (error) {
        if (!signal.aborted) refused.value = describeFailure(error);
      }
    };
    void read();
    addEventListener('focus', () => void read(), { signal });
    return () => leaving.abort();
  }, [agent, status.value, places.value, turns]);
  return { found, refused };
}

function Threads({ chosen, turns }: { chosen: string; turns: number }) {
  const status = useSignal('');
  const text = useSignal('');
  /** Where the page begins that is shown, and behind it those of the newer ones. */
  const places = useSignal<(PlaceInThreads | undefined)[]>([undefined]);
  const { found, refused } = useThreads(status, places, turns);
  const { threads = [], next } = found.value ?? {};
  const choose = (word: string): void => {
    status.value = word;
    places.value = [undefined];
  };
  const hasMore = next !== undefined || places.value.length > 1;
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          name="find_thread"
          aria-label="Find a thread of this page by its words"
          placeholder="Find"
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <select
          aria-label="Status"
          value={status.value}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          {Object.entries(STATUSES).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
      </form>
      <Fault text={refused.value} />
      {found.value === undefined && refused.value === undefined && <Skeleton lines={6} />}
      {found.value !== undefined && (
        <ThreadList
          threads={pickThreads(threads, text.value)}
          chosen={chosen}
          isFiltered={text.value !== '' || status.value !== ''}
        />
      )}
      {hasMore && (
        <p class="pages">
          <Button
            disabled={places.value.length === 1}
            label="Newer"
            press={() => (places.value = places.value.slice(1))}
          />
          <Button
            disabled={next === undefined}
            label="Older"
            press={() => (places.value = [next, ...places.value])}
          />
        </p>
      )}
    </>
  );
}

/** Returns the threads with a text, those that wait for somebody first. */
function pickThreads(threads: readonly StudioThread[], text: string): StudioThread[] {
  const part = text.trim().toLowerCase();
  const getRank = ({ status }: StudioThread): number => (status === 'interrupted' ? 0 : 1);
  return threads
    .filter(({ id, title }) => `${title} ${id}`.toLowerCase().includes(part))
    .toSorted((one, other) => getRank(one) - getRank(other));
}

function ThreadList({
  threads,
  chosen,
  isFiltered,
}: {
  threads: readonly StudioThread[];
  chosen: string;
  isFiltered: boolean;
}) {
  if (threads.length === 0 && isFiltered)
    return <EmptyState icon="search" title="No thread passes." />;
  if (threads.length === 0)
    return (
      <EmptyState icon="answer" title="No threads yet.">
        <p>The first message makes one.</p>
      </EmptyState>
    );
  return (
    <ul class="thread-list">
      {threads.map((thread) => (
        <ThreadRow key={thread.id} thread={thread} isChosen={thread.id === chosen} />
      ))}
    </ul>
  );
}

const SIGNS: Record<string, { icon: IconName; word: string }> = {
  interrupted: { icon: 'person', word: 'Waiting' },
  busy: { icon: 'turn', word: 'Running' },
  error: { icon: 'cross', word: 'Failed' },
};

function ThreadRow({
  thread: { id, title, status, changedAt },
  isChosen,
}: {
  thread: StudioThread;
  isChosen: boolean;
}) {
  const { href } = useStudio();
  const sign = Object.hasOwn(SIGNS, status) ? SIGNS[status] : undefined;
  return (
    <li>
      <a href={href(id)} class={status} aria-current={isChosen ? 'true' : undefined} title={id}>
        <span class="title">{title === '' ? `Thread ${id.slice(0, 8)}` : title}</span>
        <span class="quiet">
          {sign !== undefined && (
            <span class={`sign ${status}`}>
              <Icon name={sign.icon} turns={status === 'busy'} />
              {sign.word}
            </span>
          )}
          <Time at={changedAt} />
        </span>
      </a>
    </li>
  );
}
