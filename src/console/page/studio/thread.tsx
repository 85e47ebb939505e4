import { useSignal } from '@preact/signals';
import { Chat } from './chat/chat.tsx';
import type { ChatSession } from './chat/chat-session.ts';
import { History } from './history/history.tsx';
import { Runs, StorageOfThread } from './records/sections.tsx';
import { useStudio } from './studio-parts.ts';
import { Button } from '../shell/controls.tsx';

const VIEWS = { chat: 'Chat', checkpoints: 'Checkpoints', runs: 'Runs', storage: 'Storage' } as const;
type View = keyof typeof VIEWS;

/** A thread, or one that the first message makes: the conversation, and the states that it has been in. */
export function ThreadShown({ session }: { session: ChatSession }) {
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
            <Button key={name} role="tab" aria-selected={view.value === name} label={VIEWS[name]} press={() => (view.value = name)} />
          ))}
        </p>
      )}
      <ViewShown view={thread === undefined ? 'chat' : view.value} thread={thread ?? ''} session={session} />
    </section>
  );
}

function ViewShown({ view, thread, session }: { view: View; thread: string; session: ChatSession }) {
  if (view === 'chat') return <Chat session={session} />;
  if (view === 'runs') return <Runs key={thread} thread={thread} />;
  return view === 'storage' ? <StorageOfThread thread={thread} /> : <History key={thread} thread={thread} />;
}
