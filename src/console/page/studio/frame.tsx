import type { ComponentType } from 'preact';
import { useRef, useEffect } from 'preact/hooks';
import { ChatSession } from './chat/chat-session.ts';
import { Assistants, Crons, Runs, StorageOfThread } from './records/sections.tsx';
import { Store } from './records/store.tsx';
import { useStudio } from './studio-parts.ts';
import { useSignal } from '@preact/signals';
import { Chat } from './chat/chat.tsx';
import { History } from './history/history.tsx';
import { Button, Fault, Select } from '../shell/controls.tsx';
import { describeFailure } from '../api/failure-text.ts';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import type { PageOfThreads, PlaceInThreads } from './agent.ts';
import type { StudioThread } from './agent-answers.ts';

const SECTIONS = {
  threads: 'Threads',
  new: 'New chat',
  assistants: 'Assistants',
  store: 'Store',
  crons: 'Crons',
};
const LISTS = new Map<string, ComponentType>(
  Object.entries({ threads: Threads, assistants: Assistants, store: Store, crons: Crons }),
);

/** The studio of an agent: its threads, one of them, or a new one. */
export function StudioFrame() {
  const { part, href, agent, go } = useStudio();
  const held = useRef<ChatSession | undefined>(undefined);
  const section = part === '' ? 'threads' : part;
  const thread = section === 'new' ? undefined : section;
  const List = LISTS.get(section);
  // A thread that a first message has made stays in the session that made it, which reads its run.
  if (List === undefined && (held.current === undefined || held.current.thread.peek() !== thread))
    held.current = new ChatSession(agent, thread, go);
  return (
    <div class="studio">
      <nav class="sections" aria-label="Parts of the studio">
        {Object.entries(SECTIONS).map(([name, label]) => (
          <a key={name} href={href(name)} aria-current={name === section ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {List !== undefined && <List />}
      {List === undefined && held.current !== undefined && <ThreadShown session={held.current} />}
    </div>
  );
}

const VIEWS = {
  chat: 'Chat',
  checkpoints: 'Checkpoints',
  runs: 'Runs',
  storage: 'Storage',
} as const;
type View = keyof typeof VIEWS;

/** A thread, or one that the first message makes: the conversation, and the states that it has been in. */
function ThreadShown({ session }: { session: ChatSession }) {
  const { href } = useStudio();
  const view = useSignal<View>('chat');
  const { value: thread } = session.thread;
  return (
    <section class="thread">
      <h2>{thread === undefined ? 'New chat' : 'Thread'}</h2>
      {thread !== undefined && (
        <p>
          <a href={href('threads')}>All threads</a> <span class="mono">{thread}</span>
        </p>
      )}
      {thread !== undefined && (
        <p role="tablist" aria-label="Views of the thread">
          {(Object.keys(VIEWS) as View[]).map((name) => (
            <Button
              key={name}
              role="tab"
              aria-selected={view.value === name}
              label={VIEWS[name]}
              press={() => (view.value = name)}
            />
          ))}
        </p>
      )}
      <ViewShown
        view={thread === undefined ? 'chat' : view.value}
        thread={thread ?? ''}
        session={session}
      />
    </section>
  );
}

function ViewShown({
  view,
  thread,
  session,
}: {
  view: View;
  thread: string;
  session: ChatSession;
}) {
  if (view === 'chat') return <Chat session={session} />;
  if (view === 'runs') return <Runs key={thread} thread={thread} />;
  return view === 'storage' ? (
    <StorageOfThread thread={thread} />
  ) : (
    <History key={thread} thread={thread} />
  );
}

const STATUSES = {
  '': 'All',
  interrupted: 'Waiting for people',
  busy: 'Running',
  idle: 'Idle',
  error: 'Failed',
};

function Threads() {
  const { agent } = useStudio();
  const status = useSignal('');
  /** Where the page begins that is shown, and behind it those of the newer ones. */
  const places = useSignal<(PlaceInThreads | undefined)[]>([undefined]);
  const found = useSignal<PageOfThreads | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const read = async (from: PlaceInThreads | undefined, signal: AbortSignal): Promise<void> => {
    try {
      found.value = await agent.listThreads({ status: status.value, from, signal });
      refused.value = undefined;
    } catch (error) {
      if (!signal.aborted) refused.value = describeFailure(error);
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
        <Select
          label="Status"
          value={status.value}
          options={Object.entries(STATUSES)}
          choose={choose}
        />
      </form>
      <Fault text={refused.value} />
      {found.value === undefined && refused.value === undefined ? (
        <p aria-busy="true" />
      ) : (
        <ThreadTable threads={threads} />
      )}
      <p class="pages">
        <Button
          disabled={places.value.length === 1}
          label="Newer"
          press={() => (places.value = places.value.slice(1))}
        />{' '}
        <Button
          disabled={next === undefined}
          label="Older"
          press={() => (places.value = [next, ...places.value])}
        />
      </p>
    </section>
  );
}

function ThreadTable({ threads }: { threads: readonly StudioThread[] }) {
  const { href } = useStudio();
  if (threads.length === 0) return <p>No threads yet.</p>;
  const rows = threads.map(({ id, status, changedAt, title }) => ({
    key: id,
    cells: [<a href={href(id)}>{id}</a>, status, <Time at={changedAt} />, title],
  }));
  return (
    <Table
      heads={['Thread', 'Status', 'Changed', 'Begins with']}
      names="mono"
      sentences="Begins with"
      rows={rows}
    />
  );
}
