import type { ComponentType } from 'preact';
import { useRef } from 'preact/hooks';
import { ChatSession } from './chat/chat-session.ts';
import { Assistants, Crons } from './records/sections.tsx';
import { Store } from './records/store.tsx';
import { useStudio } from './studio-parts.ts';
import { ThreadShown } from './thread.tsx';
import { Threads } from './threads.tsx';

const SECTIONS = { threads: 'Threads', new: 'New chat', assistants: 'Assistants', store: 'Store', crons: 'Crons' };
/** The sections that show no thread. */
const LISTS = new Map<string, ComponentType>(Object.entries({ threads: Threads, assistants: Assistants, store: Store, crons: Crons }));

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
