import { useSignal } from '@preact/signals';
import { Button, EmptyState, Skeleton } from '../shell/controls.tsx';
import { wrapLazy } from '../shell/lazy.tsx';
import type { ChatSession } from './chat/chat-session.ts';
import { GraphPanel } from './chat/graph-panel.tsx';

const Waiting = () => <Skeleton lines={6} />;
const History = wrapLazy(async () => (await import('./history/history.tsx')).History, Waiting);
const StateView = wrapLazy(
  async () => (await import('./records/state-view.tsx')).StateView,
  Waiting,
);
const Runs = wrapLazy(async () => (await import('./records/sections.tsx')).Runs, Waiting);
const StorageOfThread = wrapLazy(
  async () => (await import('./records/sections.tsx')).StorageOfThread,
  Waiting,
);

const VIEWS = {
  graph: 'Graph',
  state: 'State',
  runs: 'Runs',
  history: 'History',
  storage: 'Storage',
} as const;
type View = keyof typeof VIEWS;

/** The right pane: the graph of the agent, and the state, the runs and the history of its thread. */
export function Inspector({ session }: { session: ChatSession }) {
  const view = useSignal<View>('graph');
  const move = (event: KeyboardEvent): void => {
    const names = Object.keys(VIEWS) as View[];
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    view.value = names.at((names.indexOf(view.value) + by) % names.length) ?? 'graph';
    document.querySelector<HTMLElement>(`#view-${view.value}`)?.focus();
  };
  return (
    <aside class="inspector" aria-label="Inspector">
      <div class="views" role="tablist" aria-label="Views of the thread" onKeyDown={move}>
        {(Object.keys(VIEWS) as View[]).map((name) => (
          <Button
            key={name}
            id={`view-${name}`}
            class="plain"
            role="tab"
            aria-selected={view.value === name}
            aria-controls="view"
            tabIndex={view.value === name ? 0 : -1}
            label={VIEWS[name]}
            press={() => (view.value = name)}
          />
        ))}
      </div>
      <div
        class="view"
        id="view"
        role="tabpanel"
        tabIndex={0}
        aria-labelledby={`view-${view.value}`}
      >
        <InspectorView view={view.value} session={session} />
      </div>
    </aside>
  );
}

function InspectorView({ view, session }: { view: View; session: ChatSession }) {
  const { value: thread } = session.thread;
  if (view === 'graph')
    return session.assistant.value === '' ? null : (
      <GraphPanel key={session.assistant.value} session={session} />
    );
  if (thread === undefined)
    return (
      <EmptyState icon="clock" title="Nothing yet.">
        <p>The first message makes a thread. Its {VIEWS[view].toLowerCase()} will be here.</p>
      </EmptyState>
    );
  const key = `${thread} ${session.turns.value}`;
  if (view === 'state') return <StateView key={key} thread={thread} />;
  if (view === 'runs') return <Runs key={key} thread={thread} />;
  return view === 'storage' ? (
    <StorageOfThread key={key} thread={thread} />
  ) : (
    <History key={key} thread={thread} changed={() => session.readAgain()} />
  );
}
