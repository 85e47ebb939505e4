import { useSignal } from '@preact/signals';
import { Chat } from './chat/chat.tsx';
import type { ChatSession } from './chat/chat-session.ts';
import { History } from './history/history.tsx';
import { useStudio } from './studio-parts.ts';

const VIEWS = { chat: 'Chat', checkpoints: 'Checkpoints' } as const;

/** A thread, or one that the first message makes: the conversation, and the states that it has been in. */
export function ThreadShown({ session }: { session: ChatSession }) {
  const { href } = useStudio();
  const view = useSignal<keyof typeof VIEWS>('chat');
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
          {(Object.keys(VIEWS) as (keyof typeof VIEWS)[]).map((name) => (
            <button key={name} type="button" role="tab" aria-selected={view.value === name} onClick={() => (view.value = name)}>
              {VIEWS[name]}
            </button>
          ))}
        </p>
      )}
      {view.value === 'checkpoints' && thread !== undefined ? <History key={thread} thread={thread} /> : <Chat session={session} />}
    </section>
  );
}
