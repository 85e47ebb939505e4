import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Questions } from '../questions/question-forms.tsx';
import { GraphPanel } from './graph-panel.tsx';
import { useStudio } from '../studio-parts.ts';
import { Composer } from './composer.tsx';
import type { ChatSession } from './chat-session.ts';
import { Messages } from './messages.tsx';

/** A conversation with an agent. */
export function Chat({ session }: { session: ChatSession }) {
  const { mayAct, readOnly } = useStudio();
  useEffect(() => session.begin(), [session]);
  const { value: questions } = session.questions;
  const isBusy = session.isBusy.value;
  const { error } = session.live.value;
  return (
    <div class="chat" aria-busy={isBusy || !session.isRead.value}>
      <GraphPanel session={session} />
      <Scrolled session={session} />
      {error !== undefined && (
        <p class="fault" role="alert">
          {error}
        </p>
      )}
      {session.refused.value !== undefined && (
        <p class="fault" role="alert">
          {session.refused.value}
        </p>
      )}
      {mayAct && !isBusy && questions.length === 0 && session.next.value.length > 0 && (
        <p>
          It stands before {session.next.value.join(', ')}.{' '}
          <button type="button" onClick={() => void session.goOn()}>
            Go on
          </button>
        </p>
      )}
      {mayAct && !isBusy && questions.length > 0 && (
        <Questions
          key={questions.map(({ id }) => id).join(' ')}
          questions={questions}
          isBusy={isBusy}
          answer={(answers) => session.answer(answers)}
        />
      )}
      {!mayAct && questions.length > 0 && <p class="note">It waits for an answer. {readOnly}</p>}
      {mayAct ? <Composer session={session} /> : <p class="quiet">{readOnly}</p>}
    </div>
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
  const scroll = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLDivElement }): void =>
    void (isAtEnd.value = scrollHeight - scrollTop - clientHeight < NEAR);
  return (
    // A part that scrolls has to be reached by the keyboard.
    <div ref={box} class="log" role="log" aria-label="Messages" tabIndex={0} onScroll={scroll}>
      <Messages session={session} />
    </div>
  );
}
