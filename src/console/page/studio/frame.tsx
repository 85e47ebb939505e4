import { useSignal, type Signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Button } from '../shell/controls.tsx';
import { CopyButton } from '../shell/copy-button.tsx';
import { Icon } from '../shell/icon.tsx';
import { Chat } from './chat/chat.tsx';
import { ChatSession } from './chat/chat-session.ts';
import { Inspector } from './inspector.tsx';
import {
  keepInspectorLook,
  LEAST_PIXELS,
  limitWidth,
  MOST_PIXELS,
  readInspectorLook,
  type InspectorLook,
} from './pane-width.ts';
import { wrapLazy } from '../shell/lazy.tsx';
import { toShownMessages } from './shown-messages.ts';
import { useStudio } from './studio-parts.ts';
import { ThreadsPane } from './threads-pane.tsx';

const LISTS = new Map<string, ComponentType>(
  Object.entries({
    assistants: wrapLazy(async () => (await import('./records/sections.tsx')).Assistants),
    store: wrapLazy(async () => (await import('./records/store.tsx')).Store),
    crons: wrapLazy(async () => (await import('./records/sections.tsx')).Crons),
  }),
);

const PANES = { threads: 'Threads', talk: 'Chat', inspector: 'Inspector' } as const;
type Pane = keyof typeof PANES;

/** The studio of an agent: its threads, the conversation of one of them, and an inspector beside it. */
export function StudioFrame() {
  const { part, agent, go } = useStudio();
  const held = useRef<ChatSession | undefined>(undefined);
  const look = useMemo(readInspectorLook, []);
  const pane = useSignal<Pane>('talk');
  const section = part === '' ? 'threads' : part;
  const List = LISTS.get(section);
  const thread = ['new', 'threads'].includes(section) ? undefined : section;
  // A thread that a first message has made stays in the session that made it, which reads its run.
  if (List === undefined && (held.current === undefined || held.current.thread.peek() !== thread))
    held.current = new ChatSession(agent, thread, go);
  const { current: session } = held;
  useEffect(() => void (pane.value = 'talk'), [part]);
  const { width, isOpen } = look.value;
  const isSplit = List === undefined && isOpen;
  return (
    <div
      class={`studio shows-${pane.value}${isSplit ? ' split' : ''}`}
      style={{ '--inspector': `${width}px` }}
    >
      <PaneSwitch pane={pane} list={List === undefined ? undefined : section} />
      <ThreadsPane section={section} turns={session?.turns.value ?? 0} />
      {List !== undefined && (
        <div class="talk records" tabIndex={0} role="group" aria-label="Records of the agent">
          <List />
        </div>
      )}
      {List === undefined && session !== undefined && (
        <>
          <section class="talk">
            <TalkHead session={session} look={look} />
            <Chat session={session} />
          </section>
          <Resizer look={look} />
          <Inspector session={session} />
        </>
      )}
    </div>
  );
}

/** Where the page is narrow: the pane that is shown. `list`: the list that stands in place of a conversation. */
function PaneSwitch({ pane, list }: { pane: Signal<Pane>; list: string | undefined }) {
  const shown = (Object.keys(PANES) as Pane[]).filter(
    (name) => name !== 'inspector' || list === undefined,
  );
  return (
    <div class="pane-switch" role="group" aria-label="Panes">
      {shown.map((name) => (
        <Button
          key={name}
          class="plain"
          aria-pressed={pane.value === name}
          label={
            name === 'talk' && list !== undefined
              ? `${list.slice(0, 1).toUpperCase()}${list.slice(1)}`
              : PANES[name]
          }
          press={() => (pane.value = name)}
        />
      ))}
    </div>
  );
}

const LONGEST_TITLE = 90;

function TalkHead({ session, look }: { session: ChatSession; look: Signal<InspectorLook> }) {
  const { value: thread } = session.thread;
  const [first] = toShownMessages(session.live.value.messages.slice(0, 1));
  const title = first === undefined || first.text === '' ? 'Thread' : first.text;
  const { isOpen } = look.value;
  const toggle = (): void => {
    look.value = { ...look.value, isOpen: !isOpen };
    keepInspectorLook(look.value);
  };
  return (
    <header class="talk-head">
      <h2>{thread === undefined ? 'New chat' : title.slice(0, LONGEST_TITLE)}</h2>
      {thread !== undefined && (
        <CopyButton
          text={thread}
          class="plain quiet"
          aria-label="Copy the id of the thread"
          title={`Copy the id: ${thread}`}
          label={<Icon name="copy" />}
        />
      )}
      <Button
        class="plain"
        aria-expanded={isOpen}
        aria-label={isOpen ? 'Hide the inspector' : 'Show the inspector'}
        title={isOpen ? 'Hide the inspector' : 'Show the inspector'}
        label={<Icon name="panel" />}
        press={toggle}
      />
    </header>
  );
}

const STEP_PIXELS = 24;

/** The line between conversation and inspector, which a mouse or the arrow keys move. */
function Resizer({ look }: { look: Signal<InspectorLook> }) {
  const set = (width: number): void =>
    void (look.value = { ...look.value, width: limitWidth(width) });
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: STEP_PIXELS, ArrowRight: -STEP_PIXELS }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(look.value.width + by);
    keepInspectorLook(look.value);
  };
  const handleDrag = (event: PointerEvent & { currentTarget: HTMLElement }): void => {
    const { currentTarget: line, pointerId } = event;
    const from = event.clientX + look.value.width;
    const move = (moved: PointerEvent): void => set(from - moved.clientX);
    line.setPointerCapture(pointerId);
    line.addEventListener('pointermove', move);
    const end = (): void => {
      line.removeEventListener('pointermove', move);
      keepInspectorLook(look.value);
    };
    line.addEventListener('lostpointercapture', end, { once: true });
  };
  return (
    <div
      class="resizer"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the inspector"
      aria-valuemin={LEAST_PIXELS}
      aria-valuemax={MOST_PIXELS}
      aria-valuenow={look.value.width}
      tabIndex={0}
      onKeyDown={press}
      onPointerDown={handleDrag}
    />
  );
}
