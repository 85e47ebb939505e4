import { Invalid } from '../../../errors.ts';
import type { Run, RunKwargs } from '../../../schema/agent/run.ts';
import { keepRequestKey } from '../../db/base/idempotency-keys.ts';
import type { NewRun, RunProgress } from '../../db/runs/runs.ts';
import { resolveAssistantId } from '../../kernel/ids.ts';
import { runFields } from '../../kernel/run-fields.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import type { Subscription } from '../../stream/bus.ts';
import type { Readers } from '../reading/readers.ts';
import { applyBudgets } from './answer-budget.ts';
import { checkExecutable } from './check-call.ts';
import { loadContext } from './context.ts';
import { loadEarlierRun, loadEarlierRuns } from './earlier-run.ts';
import { createFeedbackTokens, type AskedPlace } from './feedback.ts';
import { insertRun, insertTogether, type InsertDeps } from './insert.ts';
import { checkFields } from './kwargs.ts';
import { runOnlyOnce } from './only-once.ts';
import { permitRun } from './permit-run.ts';
import type { RequestDeps, RequestFacts, RunOptions, RunRequest } from './request.ts';
import { resolveRevision } from './revision.ts';
import { buildRow } from './row.ts';

/* This file makes runs; every protocol, the crons and the gates of rollouts come in here. */

/** The parts that making runs needs. */
export type CreateDeps = InsertDeps &
  RequestDeps & {
    readers: Readers;
    requests: {
      /** Returns the address under which the client finds this server, without a slash at its end. */
      address: (request: AskedPlace) => string;
    };
  };

/** A run as it was made. `subscription` gets its events, where it is followed. */
export type CreatedRun = {
  run: Run;
  subscription: Subscription | undefined;
  /** Processes that read the run, or the whole thread, and get its events. */
  readers: string[];
  /** Where the run stood when it was followed, if the same request made it before. */
  before?: RunProgress | undefined;
};

/**
 * Makes a run, which waits for a worker or starts at once. It takes one statement when no other run has to be stopped
 * and none can refuse it, and otherwise one transaction that holds the thread. Throws `Invalid`, `Rejected` or
 * `NotFound` for a faulty body, `Conflict` when the thread is busy and the strategy is to reject, a 429 when too many
 * wait, and some refusal when the request's key is kept already.
 */
export async function createRun(
  deps: CreateDeps,
  request: RunRequest,
  options: RunOptions = {},
): Promise<CreatedRun> {
  const row = await prepareRow(deps, request, options);
  const { registered, subscription, made } = deps.readers.expectRun(row.run_id, options.follow);
  // Who starts a run that publishes protocol events mostly follows its thread here, or is about to.
  const readers = options.protocol === true ? [deps.signals.processId] : registered;
  try {
    const { run, thread_readers } = await insertRun(deps, {
      ...row,
      readers,
      feedback: createFeedbackTokens(row.kwargs.feedback_keys, deps.requests.address(request.call)),
    });
    deps.log.debug(runFields(row), 'run created');
    // The answer shows the run as it was made, however soon it started.
    return {
      run: { ...run, status: 'pending' },
      subscription,
      readers: [...readers, ...thread_readers],
    };
  } catch (error) {
    subscription?.close();
    throw error;
  } finally {
    made();
  }
}

/** Checks a request, and returns the row of its run. Nothing is written, and nobody reads the run yet. */
export async function prepareRow(
  deps: RequestDeps,
  request: RunRequest,
  options: RunOptions = {},
): Promise<NewRun> {
  checkFields(request.body, request.threadId);
  const assistantId = resolveAssistantId(request.body.assistant_id, deps.graphs);
  const permitted = await permitRun(deps, request, assistantId);
  const context = await loadContext(deps, permitted, options.context);
  const budgeted = await applyBudgets(deps, permitted, context);
  const revision = await resolveRevision(deps, permitted, context);
  checkExecutable(deps, budgeted.body, { ...context, ...revision, protocol: options.protocol });
  return buildRow(deps, permitted, { context, budgeted, place: revision.place, options });
}

/** Makes a run, or returns the one that the same request made before. Throws a 410 if that is gone. */
export function createRunOnce(
  deps: CreateDeps,
  request: RunRequest,
  options: RunOptions = {},
): Promise<CreatedRun> {
  return runOnlyOnce(deps.db, request.key, {
    make: () => createRun(deps, request, options),
    again: async ([runId]) => {
      const { run, followed } = await loadEarlierRun(deps, runId!, {
        caller: request.call.caller,
        follow: options.follow,
      });
      return { run, subscription: followed?.subscription, before: followed?.progress, readers: [] };
    },
  });
}

/**
 * Makes runs on threads of their own, which wait for a worker; or none when one of them must be refused, not all of
 * them may wait, or the database fails. A refusal of one names the run's place in the list. Returns those that the same
 * request made before, if it did; throws a 410 if one of them is gone.
 */
export function createRuns(
  deps: CreateDeps,
  bodies: RunRequest['body'][],
  { call, key }: { call: RequestFacts; key: RequestKey | undefined },
): Promise<Run[]> {
  const make = async (): Promise<Run[]> => {
    const rows: NewRun[] = [];
    for (const [at, body] of bodies.entries()) {
      const row = await prepareRow(deps, { body, threadId: undefined, call }).catch(
        buildRethrow(at),
      );
      rows.push({
        ...row,
        feedback: createFeedbackTokens(row.kwargs.feedback_keys, deps.requests.address(call)),
      });
    }
    const ids = rows.map(({ run_id }) => run_id);
    const made = await insertTogether(deps, rows, async (tx) => {
      if (key !== undefined) await keepRequestKey(tx, key, ids);
    });
    return made.map(({ run }) => run);
  };
  return runOnlyOnce(deps.db, key, {
    make,
    again: (made) => loadEarlierRuns(deps, made, call.caller),
  });
}

const buildRethrow =
  (at: number) =>
  (error: unknown): never => {
    if (!(error instanceof Invalid)) throw error;
    const fields = error.fields.map(({ loc: [where = 'body', ...rest], ...field }) => ({
      ...field,
      loc: [where, at, ...rest],
    }));
    throw new Invalid(fields, { cause: error });
  };

/**
 * Tells all processes of a run that publishes protocol events, for their readers of its thread. The client need not
 * wait for it, because others find the run in the table sooner or later.
 */
export function announceProtocolRun(
  { readers, log }: CreateDeps,
  { run, readers: named }: CreatedRun,
): void {
  readers
    .announceProtocolRun(run.thread_id, named)
    .catch((error: unknown) =>
      log.warn(
        { err: error, ...runFields({ ...run, kwargs: run.kwargs as RunKwargs }) },
        'other processes could not be notified of a run; their readers hear of it later',
      ),
    );
}
