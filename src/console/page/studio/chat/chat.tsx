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
import { CopyButton } from '../../shell/copy-button.tsx';
import { formatDuration } from '../usage-text.ts';
import type { NestedMessages } from './live-run.ts';
import { RunCard, WorkShown } from './run-cards.tsx';
import type { RunStep, RunTurn } from './run-turns.ts';

/** A conversation with an agent. */
export function Chat({ session }: { session: ChatSession }) {
  const { mayAct } = useStudio();
  useEffect(() => session.begin(), [session]);
  const { error, stack } = session.live.value;
  const isOver = useSignal(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    isOver.value = false;
    void session.addFiles([...(event.dataTransfer?.files ?? [])]);
  };
  const drag = (event: DragEvent): void => {
    // The browser would open the file in place of the page.
    event.preventDefault();
    isOver.value = mayAct && event.dataTransfer?.types.includes('Files') === true;
  };
  return (
    <div
      class={isOver.value ? 'chat over' : 'chat'}
      aria-busy={session.isBusy.value || !session.isRead.value}
      onDragOver={drag}
      onDragLeave={() => (isOver.value = false)}
      onDrop={mayAct ? drop : drag}
    >
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
  const hasFailed = session.live.value.error !== undefined;
  return (
    <p class="stopped">
      <Icon name={hasFailed ? 'alert' : 'pause'} />
      <span>
        {hasFailed ? 'Not done yet: ' : 'Stopped before '}
        <span>{formatNames(next.value)}</span>.
      </span>
      <Button label={hasFailed ? 'Try again' : 'Resume'} press={() => session.resume()} />
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
  const { value: runs } = session.pastRuns;
  const steps = runs.flatMap((run) => run.steps);
  // Behind a message stand the runs that ended before the next one that is shown.
  const listRunsUpTo = (message: ShownMessage, next: ShownMessage | undefined): RunTurn[] =>
    runs.filter(
      ({ behind }) =>
        behind - first > message.at &&
        behind - first <= (next?.at ?? messages.length - first) &&
        behind <= messages.length,
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
            <Entry
              key={`${index} ${message.key}`}
              session={session}
              message={message}
              steps={steps}
              place={first + message.at}
              runs={listRunsUpTo(message, shown[index + 1])}
            />
            {(shown[index + 1]?.at ?? messages.length - first) > message.at &&
              listPlacesBetween(message.at, shown[index + 1]?.at ?? messages.length - first)
                .flatMap(listBehind)
                .map((one) => <Nested key={one.within} nested={one} />)}
          </>
        ))}
      </ol>
      {session.isBusy.value && <WorkShown nodes={session.live.value.nodes} />}
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
          {toShownMessages(messages).map((message, index, all) => (
            <li
              key={`${index} ${message.key}`}
              class={all[index - 1]?.who === message.who ? 'same' : undefined}
            >
              <MessageShown message={message} />
            </li>
          ))}
        </ol>
      </details>
    </li>
  );
}

type EntryProps = {
  session: ChatSession;
  message: ShownMessage;
  /** The steps of the runs that are known, and how many messages of the thread stand before this one. */
  steps: readonly RunStep[];
  place: number;
  /** The runs that ended behind it. */
  runs: readonly RunTurn[];
};

function Entry({ session, message, steps, place, runs }: EntryProps) {
  const { mayAct } = useStudio();
  const edited = useSignal<string | undefined>(undefined);
  const { id, speaker, text, calls, tokens } = message;
  // Tools work in the step behind the message that calls them.
  const took = calls.length === 0 ? undefined : steps.find(({ from }) => from === place + 1);
  const mayChange = mayAct && !session.isBusy.value && id !== '';
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const sent = { type: 'human', content: edited.value ?? '' };
    edited.value = undefined;
    await session.replaceMessage(id, { messages: [sent] }, sent);
  };
  return (
    <li class={speaker}>
      <MessageShown
        message={message}
        took={took?.milliseconds === undefined ? undefined : formatDuration(took.milliseconds)}
      />
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
      {edited.value === undefined && (
        <div class="deeds">
          {text !== '' && (
            <CopyButton
              text={text}
              class="plain quiet"
              aria-label="Copy the message"
              title="Copy"
              label={<Icon name="copy" />}
            />
          )}
          {mayChange && speaker === 'human' && (
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
          {tokens !== undefined && <span class="quiet">{tokens}</span>}
        </div>
      )}
      {runs.map((turn) => (
        <RunCard key={turn.run} turn={turn} />
      ))}
    </li>
  );
}
