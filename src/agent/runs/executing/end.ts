import type { RunError, RunStatus } from '../../../schema/agent/run.ts';
import type { FailurePlace, Outcome } from '../../../schema/wire/wall/run-in-thread.ts';
import type { ThreadLoss } from '../../graphs/thread.ts';

/**
 * Why a run was asked to stop: by a client (`interrupt`, `rollback`), by its time limit, because this process shuts
 * down, or because another worker now has the run (`lost`).
 */
export type StopReason = 'interrupt' | 'rollback' | 'timeout' | 'shutdown' | 'lost';

/** The end of a run that is written into its row, with its graph's report on the thread. */
export type FinishEnd = {
  kind: 'finish';
  status: RunStatus;
  error: RunError | null;
  failure?: FailurePlace | undefined;
  /** How the thread rests. */
  rest: 'idle' | 'interrupted' | 'error';
  /** JSON text; undefined: unchanged. */
  values: string | undefined;
  /** The plain fields of a long state, where the graph thread sent them. */
  plain?: string | undefined;
  interrupts: string | undefined;
  /** True when the graph could not say where the thread stands, so that its last checkpoint must be asked. */
  stateUnknown: boolean;
};

/** The result of an end: whether another run of its thread waits, and the run's status if it ended. */
export type CarriedOut = { more: boolean; status?: RunStatus };

/** How a run ends here: written down, undone, given back to the queue, or no longer this process's concern. */
export type End =
  | FinishEnd
  | { kind: 'roll-back' }
  /**
   * `alone`: the next attempt gets a thread of its own. `losesLife`: this attempt counts toward the maximum of
   * attempts.
   */
  | { kind: 'hand-back'; alone: boolean; losesLife: boolean }
  | { kind: 'forget' };

/**
 * The facts that stay the same over the whole life of a run. `alone`: it has a graph thread of its own. `temporary`: it
 * stores no steps. `tellsStacks`: clients hear where a graph failed, because they are its developers.
 */
export type RunFacts = {
  alone: boolean;
  temporary: boolean;
  timeoutSeconds: number;
  tellsStacks?: boolean;
};

/**
 * Decides the end of a run from its graph's outcome. A run that a client stopped is interrupted, even if its graph
 * finished or failed before it heard of the stop, because the client got that answer. A graph that finished or failed
 * before it heard of another stop keeps its own end.
 */
export function decideGraphEnd(
  outcome: Outcome,
  stop: StopReason | undefined,
  { timeoutSeconds, tellsStacks }: RunFacts,
): End {
  const { values, plain, interrupts } = outcome;
  const rest = outcome.waiting ? 'interrupted' : 'idle';
  const state = {
    values,
    ...(plain !== undefined && { plain }),
    interrupts,
    stateUnknown: outcome.drained === true,
  };
  if (stop === 'lost' || outcome.lost === true) return { kind: 'forget' };
  if (stop === 'rollback') return { kind: 'roll-back' };
  if (stop === 'interrupt')
    return { kind: 'finish', status: 'interrupted', error: null, rest, ...state };
  if (outcome.status === 'error') {
    const { error = NO_REASON, failure } = outcome;
    const stack = tellsStacks ? failure?.stack : undefined;
    return {
      ...buildFailedEnd({ ...error, ...(stack !== undefined && { stack }) }),
      failure,
      ...state,
    };
  }
  if (outcome.status === 'success')
    return { kind: 'finish', status: 'success', error: null, rest, ...state };
  if (isContinued(outcome, stop))
    return { kind: 'hand-back', alone: false, losesLife: outcome.retry === true };
  if (stop === 'timeout') return { ...buildFailedEnd(buildTimeoutError(timeoutSeconds)), ...state };
  return { kind: 'finish', status: 'interrupted', error: null, rest, ...state };
}

/** Returns whether a run whose graph came to no end goes on elsewhere. */
const isContinued = ({ drained, retry }: Outcome, stop: StopReason | undefined): boolean =>
  stop === 'shutdown' || drained === true || retry === true;

/**
 * Decides the end of a run whose graph thread is gone, or that never got one. A crash takes all runs of the thread with
 * it, and nobody knows which one was to blame. So each of them continues in a thread of its own, and loses a life only
 * if it crashes that one, too.
 */
export function endWithoutGraph(
  loss: ThreadLoss,
  stop: StopReason | undefined,
  { alone, timeoutSeconds }: RunFacts,
): End {
  const state = { values: undefined, interrupts: undefined, stateUnknown: true };
  const crashed = loss === 'crashed';
  switch (stop) {
    case 'lost':
      return { kind: 'forget' };
    case 'rollback':
      return { kind: 'roll-back' };
    case 'timeout':
      return { ...buildFailedEnd(buildTimeoutError(timeoutSeconds)), ...state };
    case 'interrupt':
      return { kind: 'finish', status: 'interrupted', error: null, rest: 'idle', ...state };
    default:
      return { kind: 'hand-back', alone: crashed, losesLife: crashed && alone };
  }
}

/**
 * Decides the end of a run whose result the database refuses (it is larger than a field can be). Another attempt would
 * end the same way, so the run fails.
 */
export function buildRefusedEnd(reason: Error): FinishEnd & { error: RunError } {
  const error = {
    error: 'ResultNotStored',
    message: `The database refused the result of the run: ${reason.message}.`,
  };
  return {
    ...buildFailedEnd(error),
    error,
    values: undefined,
    interrupts: undefined,
    stateUnknown: false,
  };
}

const NO_REASON: RunError = { error: 'Error', message: 'The graph failed without a reason.' };
const buildTimeoutError = (seconds: number): RunError => ({
  error: 'TimeoutError',
  message: `The run took longer than ${seconds} seconds.`,
});

const buildFailedEnd = (
  error: RunError,
): Pick<FinishEnd, 'kind' | 'status' | 'error' | 'rest'> => ({
  kind: 'finish',
  status: 'error',
  error,
  rest: 'error',
});
