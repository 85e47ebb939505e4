import { useSignal } from '@preact/signals';
import { MessageShown } from '../conversation.tsx';
import { lastMessages, shownMessages, type ShownMessage } from '../shown-messages.ts';
import { useStudio } from '../studio-parts.ts';
import type { ChatSession } from './chat-session.ts';
import type { NestedMessages } from './live-run.ts';
import { Button } from '../../shell/controls.tsx';

/** The messages of a conversation, with those of the graphs within the graph at their place. */
export function Messages({ session }: { session: ChatSession }) {
  const { messages, nested } = session.live.value;
  const { first, shown } = lastMessages(messages);
  if (shown.length === 0 && nested.length === 0) return session.isRead.value ? <p class="quiet">Say something to the agent.</p> : null;
  const behind = (at: number): NestedMessages[] =>
    nested.filter((one) => Math.min(Math.max(0, one.behind - first), messages.length - first) === at);
  return (
    <>
      {first > 0 && <p class="note">{first} earlier ones are not shown.</p>}
      <ol class="messages">
        {behind(0).map((one) => (
          <Nested key={one.within} nested={one} />
        ))}
        {shown.map((message, index) => (
          <>
            <Entry key={`${index} ${message.key}`} session={session} message={message} />
            {(shown[index + 1]?.at ?? messages.length - first) > message.at &&
              placesBetween(message.at, shown[index + 1]?.at ?? messages.length - first)
                .flatMap(behind)
                .map((one) => <Nested key={one.within} nested={one} />)}
          </>
        ))}
      </ol>
    </>
  );
}

/** Returns the places behind a message, up to the next one that is shown. */
const placesBetween = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, step) => from + step + 1);

/** The messages of a graph within the graph, folded. */
function Nested({ nested: { within, messages } }: { nested: NestedMessages }) {
  const names = within.split('|').map((one) => one.split(':')[0] ?? one);
  return (
    <li class="nested">
      <details open>
        <summary>{names.join(' › ')}</summary>
        <ol class="messages">
          {shownMessages(messages).map((message, index) => (
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
    await session.edit(id, { messages: [sent] }, sent);
  };
  return (
    <li class={speaker}>
      <MessageShown message={message} />
      {edited.value !== undefined && (
        <form class="edit" onSubmit={(event) => void send(event)}>
          <textarea
            aria-label="The message in its place"
            rows={3}
            value={edited.value}
            onInput={({ currentTarget }) => (edited.value = currentTarget.value)}
          />
          <Button class="main" label="Send in its place" /> <Button label="Leave it" press={() => (edited.value = undefined)} />
        </form>
      )}
      {mayChange && speaker === 'human' && edited.value === undefined && (
        <Button class="plain quiet" label="Edit" press={() => (edited.value = text)} />
      )}
      {mayChange && speaker === 'agent' && <Button class="plain quiet" label="Write it again" press={() => session.regenerate(id)} />}
    </li>
  );
}
