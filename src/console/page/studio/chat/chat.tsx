import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Questions } from '../questions/question-forms.tsx';
import { buildFormExample, buildFirstMessage } from '../forms/form-example.ts';
import { formatNames } from '../state-text.ts';
import { useStudio } from '../studio-parts.ts';
import { Composer } from './composer.tsx';
import type { ChatSession, InputMode } from './chat-session.ts';
import { Button, EmptyState, Fault, Skeleton } from '../../shell/controls.tsx';
import { Icon } from '../../shell/icon.tsx';
import { MessageShown } from '../conversation.tsx';
import { takeLastMessages, toShownMessages, type ShownMessage } from '../shown-messages.ts';
import type { NestedMessages } from './live-run.ts';

/** A conversation with an agent. */
export function Chat({ session }: { session: ChatSession }) {
  const { mayAct } = useStudio();
  useEffect(() => session.begin(), [session]);
  const { error, stack } = session.live.value;
  return (
    <div class="chat" aria-busy={session.isBusy.value || !session.isRead.value}>
      <Scrolled session={session} />
      <div class="dock">
        <Fault text={error} />
        {stack !== '' && (
          <details class="stack">
            <summary>Where it failed</summary>
            <pre tabIndex={0}>{stack}</pre>
          </details>
        )}
        <Fault text={session.refused.value} />
        {mayAct ? <ReplyArea session={session} /> : <ReaderNote session={session} />}
      </div>
    </div>
  );
}

/** One field at a time: that of the questions as long as they are open, unless the reader asks for the other one. */
function ReplyArea({ session }: { session: ChatSession }) {
  const asked = session.questions.value.map(({ id }) => id).join(' ');
  const passedOver = useSignal<string | undefined>(undefined);
  const isAsked = session.questions.value.length > 0 && !session.isBusy.value;
  if (!isAsked || passedOver.value === asked)
    return (
      <>
        {isAsked && (
          <p class="quiet">
            The agent waits for an answer.{' '}
            <Button class="plain" label="Answer it" press={() => (passedOver.value = undefined)} />
          </p>
        )}
        <BreakpointNotice session={session} />
        <Composer session={session} />
      </>
    );
  return (
    <>
      <Questions
        key={asked}
        questions={session.questions.value}
        isBusy={false}
        answer={(answers) => session.answer(answers)}
      />
      <Button
        class="plain quiet"
        label="Write a message instead"
        press={() => (passedOver.value = asked)}
      />
    </>
  );
}

function ReaderNote({ session }: { session: ChatSession }) {
  const { readOnly } = useStudio();
  const isAsked = session.questions.value.length > 0 && !session.isBusy.value;
  return (
    <p class={isAsked ? 'note' : 'quiet'}>
      {isAsked && 'Waiting for an answer. '}
      {readOnly}
    </p>
  );
}

/** The node before which a thread rests. */
function BreakpointNotice({ session }: { session: ChatSession }) {
  const { questions, isBusy, next } = session;
  if (isBusy.value || questions.value.length > 0 || next.value.length === 0) return null;
  return (
    <p class="stopped">
      <Icon name="pause" />
      <span>
        Stopped before <span>{formatNames(next.value)}</span>.
      </span>
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
    return session.isRead.value ? <EmptyChat session={session} /> : <Skeleton lines={4} />;
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

/** An empty conversation: how to begin it, with an input that fits the graph. */
function EmptyChat({ session }: { session: ChatSession }) {
  const { mayAct } = useStudio();
  const { value: fields } = session.fields;
  const message = buildFirstMessage(fields);
  const name = session.assistants.value.find(({ id }) => id === session.assistant.value)?.name;
  const others = (fields ?? []).filter((field) => field.name !== 'messages');
  const use = (mode: InputMode, text: string): void => {
    session.mode.value = mode;
    session.draft.value = text;
    requestAnimationFrame(() => document.querySelector<HTMLElement>('[name=text]')?.focus());
  };
  return (
    <EmptyState
      icon="spark"
      title={name === undefined ? 'Say something to the agent.' : `Say something to ${name}.`}
    >
      <p>
        The answer appears here as it is written. The graph at the side shows which step works on
        it.
      </p>
      {mayAct && (
        <div class="examples">
          {message !== undefined && (
            <Button label={`“${message}”`} press={() => use('message', message)} />
          )}
          {others.length > 0 && (
            <Button
              label={`An input with ${formatNames(others.map((field) => field.name))}`}
              press={() => use('json', JSON.stringify(buildFormExample(fields), undefined, 2))}
            />
          )}
        </div>
      )}
    </EmptyState>
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
        <summary>
          <Icon name="layers" /> {names.join(' › ')}
        </summary>
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
        <Button
          class="plain quiet"
          aria-label="Edit"
          title="Edit"
          label={<Icon name="pencil" />}
          press={() => (edited.value = text)}
        />
      )}
      {mayChange && speaker === 'agent' && (
        <Button
          class="plain quiet"
          aria-label="Regenerate"
          title="Regenerate"
          label={<Icon name="turn" />}
          press={() => session.repeatMessage(id)}
        />
      )}
    </li>
  );
}
