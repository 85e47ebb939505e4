import type { RunError } from '../../../schema/agent/run.ts';
import type { Outcome } from '../../../schema/wire/wall/run-in-thread.ts';
import {
  decideGraphEnd,
  endWithoutGraph,
  buildRefusedEnd,
  type End,
  type FinishEnd,
  type RunFacts,
  type StopReason,
} from './end.ts';
import type { ThreadLoss } from '../../graphs/thread.ts';

/*
 * The life of a run in this process, as a machine: an event in a state leads to the next state and to effects.
 * Nothing is done here. `executor.ts` carries out the effects, and reports what came of them as events.
 *
 *   taken -> executing -> stopping -> saying -> writing -> ended
 *
 * A run may skip states on its way to the right. Only a result that the database refuses leads back, from writing to
 * saying. A roll-back that a client asked for meanwhile takes the place of the end that is being written.
 */

/** Key -> the address at which feedback on the run is given. */
type Feedback = Record<string, string> | undefined;

export type Life =
  /**
   * This process has claimed it, but no graph thread has it yet. `stop`: the stop asked for meanwhile, or before.
   * `drains`: it is to stop between two of its steps.
   */
  | { at: 'taken'; stop: StopReason | undefined; drains: boolean }
  /** A graph thread executes it. */
  | { at: 'executing' }
  /** Its graph was asked to stop. */
  | { at: 'stopping'; stop: StopReason }
  /**
   * Its last events are on their way to its readers. `feedback` is known once they have been sent for the first time.
   */
  | { at: 'saying'; end: FinishEnd; feedback: Feedback }
  /** Its end is being written down. */
  | { at: 'writing'; end: End; feedback: Feedback }
  | { at: 'ended' };

export type LifeEvent =
  /** A graph thread has it. */
  | { event: 'given' }
  /** No graph thread could be had for it. */
  | { event: 'not-given' }
  | { event: 'stop-requested'; reason: StopReason }
  /** This process is about to stop, so that the run is to go on elsewhere once its step has ended. */
  | { event: 'drain-requested' }
  /** The time that its graph had to obey is over. */
  | { event: 'obey-time-over' }
  | { event: 'thread-gone'; loss: ThreadLoss }
  | { event: 'graph-ended'; outcome: Outcome }
  /** Its last events are where every reader finds them. */
  | { event: 'last-events-sent'; feedback: Feedback }
  /** `more`: its thread has another run waiting. */
  | { event: 'end-written'; more: boolean }
  /** A client had the run rolled back before its end was written. */
  | { event: 'end-overruled' }
  /** The database is away, or busy with the same rows. */
  | { event: 'end-postponed'; error: Error }
  | { event: 'end-refused'; error: Error }
  | { event: 'retry-time-over' };

/** The time limit of the run; the time in which a graph obeys; the time between two tries to write an end. */
export type TimerName = 'limit' | 'obey' | 'retry';

export type Effect =
  /** Sets the timer, or sets it again; `expires`: the event when it runs out. */
  | { do: 'set-timer'; timer: TimerName; milliseconds: number; expires: LifeEvent }
  | { do: 'clear-timer'; timer: TimerName }
  /** Tells the graph to stop. `goesOn`: the run goes on elsewhere, so nobody is to hear of an end. */
  | { do: 'abort'; goesOn: boolean }
  /** Tells the graph to stop between two of its steps. */
  | { do: 'drain' }
  /** Ends the thread that the graph is stuck in; a run that waits for a thread waits no longer. */
  | { do: 'kill' }
  /** Says the last events of the run (feedback addresses, error); `last-events-sent` or `end-postponed` follows. */
  | { do: 'say-last-events'; end: FinishEnd }
  /** Says the error that takes the place of the result; `last-events-sent` follows. */
  | { do: 'say-error'; error: RunError }
  /** Writes the end down and tells the readers; an event `end-...` follows. */
  | { do: 'write-end'; end: End; feedback: Feedback }
  | { do: 'log'; level: 'warn' | 'error'; error: Error; message: string }
  /** Gives the slot back; the run is no longer this process's. `more`: its thread has another run waiting. */
  | { do: 'release'; end: End; more: boolean };

export type LifeStep = [life: Life, effects: Effect[]];

/** Milliseconds a graph gets to obey before its thread is ended. */
const OBEY_WITHIN = 2000;
/** Milliseconds between two tries to write an end. */
const TRY_AGAIN = 500;
/** The longest time that a timer of Node takes. */
const LONGEST_TIMER = 0x7fffffff;

const setObeyTimer: Effect = {
  do: 'set-timer',
  timer: 'obey',
  milliseconds: OBEY_WITHIN,
  expires: { event: 'obey-time-over' },
};
const abort = (stop: StopReason): Effect => ({
  do: 'abort',
  goesOn: stop === 'shutdown' || stop === 'lost',
});
const keepLife = (life: Life): LifeStep => [life, []];

/**
 * Begins the life of a run that this process has just claimed. `stop`: the stop asked for before it began here.
 */
export function beginLife(stop: StopReason | undefined, { timeoutSeconds }: RunFacts): LifeStep {
  const milliseconds = Math.min(timeoutSeconds * 1000, LONGEST_TIMER);
  const limit: Effect = {
    do: 'set-timer',
    timer: 'limit',
    milliseconds,
    expires: { event: 'stop-requested', reason: 'timeout' },
  };
  return [
    { at: 'taken', stop, drains: false },
    stop === undefined ? [limit] : [limit, setObeyTimer],
  ];
}

/** Returns whether another worker has the run, so that nothing more is to be heard of it from here. */
export const isLost = (life: Life): boolean => life.at === 'stopping' && life.stop === 'lost';

/**
 * Returns the next state of a life, and the effects of the event. An event that means nothing in a state changes
 * nothing.
 */
export function stepLife(life: Life, event: LifeEvent, facts: RunFacts): LifeStep {
  switch (life.at) {
    case 'taken':
      return stepTaken(life, event, facts);
    case 'executing':
    case 'stopping':
      return stepInThread(life, event, facts);
    case 'saying':
      return stepSaying(life, event);
    case 'writing':
      return stepWriting(life, event);
    default:
      return keepLife(life);
  }
}

function stepTaken(
  life: Extract<Life, { at: 'taken' }>,
  event: LifeEvent,
  facts: RunFacts,
): LifeStep {
  const { stop, drains } = life;
  switch (event.event) {
    case 'given':
      if (stop === undefined) return [{ at: 'executing' }, drains ? [{ do: 'drain' }] : []];
      // No thread has heard of the stop yet, so the time to obey begins now.
      return [{ at: 'stopping', stop }, [abort(stop), setObeyTimer]];
    case 'not-given':
      return beginEnd(endWithoutGraph('killed', stop, facts));
    case 'stop-requested':
      return [
        { ...life, stop: chooseStopReason(stop, event.reason) },
        stop === undefined ? [setObeyTimer] : [],
      ];
    case 'drain-requested':
      return keepLife({ ...life, drains: !facts.temporary });
    case 'obey-time-over':
      return [life, [{ do: 'kill' }]];
    default:
      return stepThreadEnd(life, event, { stop, facts });
  }
}

function stepInThread(
  life: Extract<Life, { at: 'executing' | 'stopping' }>,
  event: LifeEvent,
  facts: RunFacts,
): LifeStep {
  const stop = life.at === 'stopping' ? life.stop : undefined;
  switch (event.event) {
    case 'stop-requested': {
      const reason = chooseStopReason(stop, event.reason);
      return [
        { at: 'stopping', stop: reason },
        stop === undefined ? [abort(reason), setObeyTimer] : [abort(reason)],
      ];
    }
    case 'drain-requested':
      // A temporary run stores no steps, so elsewhere it would begin again. It has until the end of the grace.
      return [life, stop !== undefined || facts.temporary ? [] : [{ do: 'drain' }]];
    case 'obey-time-over':
      return life.at === 'stopping' ? [life, [{ do: 'kill' }]] : keepLife(life);
    default:
      return stepThreadEnd(life, event, { stop, facts });
  }
}

function stepThreadEnd(
  life: Life,
  event: LifeEvent,
  { stop, facts }: { stop: StopReason | undefined; facts: RunFacts },
): LifeStep {
  if (event.event === 'thread-gone') return beginEnd(endWithoutGraph(event.loss, stop, facts));
  if (event.event === 'graph-ended') return beginEnd(decideGraphEnd(event.outcome, stop, facts));
  return keepLife(life);
}

/** Returns the reason that counts: the first one, except that a rollback outranks an interrupt. */
const chooseStopReason = (stop: StopReason | undefined, asked: StopReason): StopReason =>
  stop === undefined || (stop === 'interrupt' && asked === 'rollback') ? asked : stop;

/** Begins the end of a run. Once decided it changes no more, whatever is asked of the run from now on. */
function beginEnd(end: End): LifeStep {
  const clear: Effect[] = [
    { do: 'clear-timer', timer: 'limit' },
    { do: 'clear-timer', timer: 'obey' },
  ];
  if (end.kind !== 'finish')
    return [
      { at: 'writing', end, feedback: undefined },
      [...clear, { do: 'write-end', end, feedback: undefined }],
    ];
  return [{ at: 'saying', end, feedback: undefined }, [...clear, { do: 'say-last-events', end }]];
}

function stepSaying(life: Extract<Life, { at: 'saying' }>, event: LifeEvent): LifeStep {
  const { end } = life;
  switch (event.event) {
    case 'last-events-sent': {
      const feedback = life.feedback ?? event.feedback;
      return [{ at: 'writing', end, feedback }, [{ do: 'write-end', end, feedback }]];
    }
    case 'retry-time-over':
      return [life, [{ do: 'say-last-events', end }]];
    default:
      return endNotWritten(life, event);
  }
}

function stepWriting(life: Extract<Life, { at: 'writing' }>, event: LifeEvent): LifeStep {
  const { end, feedback } = life;
  switch (event.event) {
    case 'end-written':
      return [{ at: 'ended' }, [{ do: 'release', end, more: event.more }]];
    case 'end-overruled':
      return beginEnd({ kind: 'roll-back' });
    case 'retry-time-over':
      return [life, [{ do: 'write-end', end, feedback }]];
    default:
      return endNotWritten(life, event);
  }
}

/**
 * Waits for a database that is away, or busy with the same rows. Until it comes back nobody else can take the run, and
 * then the lease decides. A result that the database refuses fails the run at once, because another attempt would come
 * to the same. Any other refused end is given up: the lease runs out, and another worker takes the run up from its last
 * checkpoint.
 */
function endNotWritten(
  life: Extract<Life, { at: 'saying' | 'writing' }>,
  event: LifeEvent,
): LifeStep {
  const { end, feedback } = life;
  if (event.event === 'end-postponed') {
    const retry: Effect = {
      do: 'set-timer',
      timer: 'retry',
      milliseconds: TRY_AGAIN,
      expires: { event: 'retry-time-over' },
    };
    const message = 'end of run could not be written; it will be tried again';
    return [life, [{ do: 'log', level: 'warn', error: event.error, message }, retry]];
  }
  if (event.event !== 'end-refused') return keepLife(life);
  const { error } = event;
  if (end.kind === 'finish' && end.values !== undefined) {
    const refused = buildRefusedEnd(error);
    const message = 'result of run was refused by the database';
    return [
      { at: 'saying', end: refused, feedback },
      [
        { do: 'log', level: 'error', error, message },
        { do: 'say-error', error: refused.error },
      ],
    ];
  }
  return [
    { at: 'ended' },
    [
      { do: 'log', level: 'error', error, message: 'end of run could not be written' },
      { do: 'release', end, more: false },
    ],
  ];
}
