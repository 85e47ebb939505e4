import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Questions } from '../questions/question-forms.tsx';
import { GraphPanel } from './graph-panel.tsx';
import { namesText } from '../state-text.ts';
import { useStudio } from '../studio-parts.ts';
import { Composer } from './composer.tsx';
import type { ChatSession } from './chat-session.ts';
import { Messages } from './messages.tsx';
import { Fault, Button } from '../../shell/controls.tsx';

/** A conversation with an agent. */
export function Chat({ session }: { session: ChatSession }) {
  const { mayAct, readOnly } = useStudio();
  useEffect(() => session.begin(), [session]);
  const { error } = session.live.value;
  return (
    <div class="chat" aria-busy={session.isBusy.value || !session.isRead.value}>
      <GraphPanel session={session} />
      <Scrolled session={session} />
      <Fault text={error} />
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
  if (!mayAct) return questions.length > 0 ? <p class="note">It waits for an answer. {readOnly}</p> : null;
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
      It stands before <span>{namesText(session.next.value)}</span>. <Button label="Go on" press={() => session.goOn()} />
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
  const scroll = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLDivElement }): void =>
    void (isAtEnd.value = scrollHeight - scrollTop - clientHeight < NEAR);
  return (
    // A part that scrolls has to be reached by the keyboard.
    <div ref={box} class="log" role="log" aria-label="Messages" tabIndex={0} onScroll={scroll}>
      <Messages session={session} />
    </div>
  );
}
