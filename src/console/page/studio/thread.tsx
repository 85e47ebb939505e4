import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { usePage } from '../shell/page-parts.ts';
import { Time } from '../shell/time.tsx';
import { useStudio } from './studio-parts.ts';
import type { ListedCheckpoint } from './agent-answers.ts';
import { Conversation } from './conversation.tsx';
import { checkpointWords, stateText, withoutMessages } from './state-text.ts';
import { WatchedThread } from './watched-thread.ts';

/** One thread: its checkpoints, and the state at one of them. */
export function ThreadShown({ thread }: { thread: string }) {
  const { agent, href } = useStudio();
  const reading = useMemo(() => new WatchedThread(agent, thread), [agent, thread]);
  useEffect(() => reading.begin(), [reading]);
  const { value: refused } = reading.refused;
  return (
    <section class="thread">
      <h2>Thread</h2>
      <p>
        <a href={href('threads')}>All threads</a> <span class="mono">{thread}</span>{' '}
        <span class="quiet">{reading.thread.value?.status}</span>
      </p>
      {refused !== undefined && (
        <p class="fault" role="alert">
          {refused}
        </p>
      )}
      <Checkpoints reading={reading} />
      <StateAt reading={reading} />
    </section>
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
