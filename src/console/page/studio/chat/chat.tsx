import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Questions } from '../questions/question-forms.tsx';
import { GraphPanel } from './graph-panel.tsx';
import { formatNames } from '../state-text.ts';
import { useStudio } from '../studio-parts.ts';
import { Composer } from './composer.tsx';
import type { ChatSession } from './chat-session.ts';
import { Fault, Button } from '../../shell/controls.tsx';
import { MessageShown } from '../conversation.tsx';
import { takeLastMessages, toShownMessages, type ShownMessage } from '../shown-messages.ts';
import type { NestedMessages } from './live-run.ts';

/** A conversation with an agent. */
export function Chat({ session }: { session: ChatSession }) {
  const { mayAct, readOnly } = useStudio();
  useEffect(() => session.begin(), [session]);
  const { error, stack } = session.live.value;
  return (
    <div class="chat" aria-busy={session.isBusy.value || !session.isRead.value}>
      <GraphPanel session={session} />
      <Scrolled session={session} />
      <Fault text={error} />
      {stack !== '' && (
        <details class="stack">
          <summary>Where it failed</summary>
          <pre>{stack}</pre>
        </details>
      )}
      <Fault text={session.refused.value} />
      <Waiting session={session} />
      {mayAct ? <Composer session={session} /> : <p class="quiet">{readOnly}</p>}
    </div>
  );
}

/** The questions of a thread that rests, or the node before which it stands. */
function Waiting({ session }: { session: ChatSession }) {
  const { mayAct, readOnly } = useStudio();
  const { value: questions } = session.questions;
  const { value: isBusy } = session.isBusy;
  if (isBusy) return null;
  if (!mayAct)
    return questions.length > 0 ? <p class="note">Waiting for an answer. {readOnly}</p> : null;
  if (questions.length > 0)
    return (
      <Questions
        key={questions.map(({ id }) => id).join(' ')}
        questions={questions}
        isBusy={isBusy}
        answer={(answers) => session.answer(answers)}
      />
    );
  if (session.next.value.length === 0) return null;
  return (
    <p>
      Stopped before <span>{formatNames(session.next.value)}</span>.{' '}
      <Button label="Resume" press={() => session.resume()} />
    </p>
  );
}

/** Pixels from the end at which a reader still reads along. */
const NEAR = 60;

/** The messages. They stay at their end as long as the reader is there. */
function Scrolled({ session }: { session: ChatSession }) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useSignal(true);
  const { value: live } = session.live;
  useLayoutEffect(() => {
    const { current } = box;
    if (current !== null && isAtEnd.peek()) current.scrollTop = current.scrollHeight;
  }, [live]);
  const scroll = ({
    currentTarget: { scrollHeight, scrollTop, clientHeight },
  }: {
    currentTarget: HTMLDivElement;
  }): void => void (isAtEnd.value = scrollHeight - scrollTop - clientHeight < NEAR);
  return (
    // A part that scrolls has to be reached by the keyboard.
    <div ref={box} class="log" role="log" aria-label="Messages" tabIndex={0} onScroll={scroll}>
      <Messages session={session} />
    </div>
  );
}

/** The messages of a conversation, with those of the graphs within the graph at their place. */
function Messages({ session }: { session: ChatSession }) {
  const { messages, nested } = session.live.value;
  const { first, shown } = takeLastMessages(messages);
  if (shown.length === 0 && nested.length === 0)
    return session.isRead.value ? <p class="quiet">Say something to the agent.</p> : null;
  const listBehind = (at: number): NestedMessages[] =>
    nested.filter(
      (one) => Math.min(Math.max(0, one.behind - first), messages.length - first) === at,
    );
  return (
    <>
      {first > 0 && <p class="note">{first} earlier ones are not shown.</p>}
      <ol class="messages">
        {listBehind(0).map((one) => (
          <Nested key={one.within} nested={one} />
        ))}
        {shown.map((message, index) => (
          <>
            <Entry key={`${index} ${message.key}`} session={session} message={message} />
            {(shown[index + 1]?.at ?? messages.length - first) > message.at &&
              listPlacesBetween(message.at, shown[index + 1]?.at ?? messages.length - first)
                .flatMap(listBehind)
                .map((one) => <Nested key={one.within} nested={one} />)}
          </>
        ))}
      </ol>
    </>
  );
}

/** Returns the places behind a message, up to the next one that is shown. */
const listPlacesBetween = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, step) => from + step + 1);

function Nested({ nested: { within, messages } }: { nested: NestedMessages }) {
  const names = within.split('|').map((one) => one.split(':')[0] ?? one);
  return (
    <li class="nested">
      <details open>
        <summary>{names.join(' › ')}</summary>
        <ol class="messages">
          {toShownMessages(messages).map((message, index) => (
            <li key={`${index} ${message.key}`}>
              <MessageShown message={message} />
            </li>
          ))}
        </ol>
      </details>
    </li>
  );
}

function Entry({ session, message }: { session: ChatSession; message: ShownMessage }) {
  const { mayAct } = useStudio();
  const edited = useSignal<string | undefined>(undefined);
  const { id, speaker, text } = message;
  const mayChange = mayAct && !session.isBusy.value && id !== '';
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const sent = { type: 'human', content: edited.value ?? '' };
    edited.value = undefined;
    await session.replaceMessage(id, { messages: [sent] }, sent);
  };
  return (
    <li class={speaker}>
      <MessageShown message={message} />
      {edited.value !== undefined && (
        <form class="edit" onSubmit={(event) => void send(event)}>
          <textarea
            aria-label="The new message"
            rows={3}
            value={edited.value}
            onInput={({ currentTarget }) => (edited.value = currentTarget.value)}
          />
          <Button class="main" label="Send" />{' '}
          <Button label="Cancel" press={() => (edited.value = undefined)} />
        </form>
      )}
      {mayChange && speaker === 'human' && edited.value === undefined && (
        <Button class="plain quiet" label="Edit" press={() => (edited.value = text)} />
      )}
      {mayChange && speaker === 'agent' && (
        <Button class="plain quiet" label="Regenerate" press={() => session.repeatMessage(id)} />
      )}
    </li>
  );
}
