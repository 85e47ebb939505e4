import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { usePage } from '../shell/page-parts.ts';
import { Time } from '../shell/time.tsx';
import { useStudio } from './studio-parts.ts';
import { Chat } from './chat/chat.tsx';
import type { ChatSession } from './chat/chat-session.ts';
import type { ListedCheckpoint } from './agent-answers.ts';
import { Conversation } from './conversation.tsx';
import { checkpointWords, stateText, withoutMessages } from './state-text.ts';
import { WatchedThread } from './watched-thread.ts';

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

/** The checkpoints of a thread, and the state at one of them. */
function History({ thread }: { thread: string }) {
  const { agent } = useStudio();
  const reading = useMemo(() => new WatchedThread(agent, thread), [agent, thread]);
  useEffect(() => reading.begin(), [reading]);
  const { value: refused } = reading.refused;
  return (
    <>
      {refused !== undefined && (
        <p class="fault" role="alert">
          {refused}
        </p>
      )}
      <Checkpoints reading={reading} />
      <StateAt reading={reading} />
    </>
  );
}

function Checkpoints({ reading }: { reading: WatchedThread }) {
  const { checkpoints, more, chosen } = reading;
  if (checkpoints.value === undefined) return <p aria-busy="true" />;
  if (checkpoints.value.length === 0) return <p>It has no checkpoint yet.</p>;
  return (
    <>
      <label class="select">
        <span>Checkpoint</span>{' '}
        <select value={chosen.value} onChange={({ currentTarget }) => reading.choose(currentTarget.value)}>
          {checkpoints.value.map((one) => (
            <option key={one.id} value={one.id}>
              {lineOf(one)}
            </option>
          ))}
        </select>
      </label>
      {more.value && (
        <button type="button" onClick={() => void reading.older()}>
          Older checkpoints
        </button>
      )}
    </>
  );
}

const lineOf = ({ metadata, next, madeAt }: ListedCheckpoint): string =>
  `${checkpointWords(metadata)}, ${madeAt}${next.length > 0 ? `, next ${next.join(', ')}` : ''}`;

function StateAt({ reading }: { reading: WatchedThread }) {
  const { value: state } = reading.state;
  if (state === undefined) return null;
  const { shown, letters } = stateText(withoutMessages(state.values));
  return (
    <>
      <p class="quiet">
        Made <Time at={state.madeAt} />. {state.next.length > 0 ? `Next: ${state.next.join(', ')}.` : 'Nothing follows.'}
      </p>
      <RunFrom reading={reading} />
      <Conversation values={state.values} />
      {state.interrupts.length > 0 && (
        <>
          <h3>It waits for an answer</h3>
          <pre>{stateText(state.interrupts).shown}</pre>
        </>
      )}
      <h3>State</h3>
      <pre>{shown}</pre>
      {letters > shown.length && (
        <p class="note">
          These are the first {shown.length} of its {letters} letters.
        </p>
      )}
    </>
  );
}

function RunFrom({ reading }: { reading: WatchedThread }) {
  const { mayAct, readOnly } = useStudio();
  const page = usePage();
  const isBusy = useSignal(false);
  const run = async (): Promise<void> => {
    isBusy.value = true;
    if (await reading.runFromHere()) page.say('The run has ended.');
    isBusy.value = false;
  };
  return (
    <p>
      <button type="button" disabled={!mayAct || isBusy.value} onClick={() => void run()}>
        {isBusy.value ? 'It runs …' : 'Run from here'}
      </button>
      {!mayAct && <span class="quiet"> {readOnly}</span>}
    </p>
  );
}
