import { Invalid } from '../../../errors.ts';
import type { Run, RunCreate, RunKwargs } from '../../../schema/agent/run.ts';
import { insertFeedbackTokens } from '../../db/runs/feedback.ts';
import { keepRequestKey } from '../../db/base/idempotency-keys.ts';
import type { Db } from '../../db/base/pool.ts';
import type { TaskOfRun } from '../../db/webhooks/push-configs.ts';
import type { RunProgress } from '../../db/runs/runs.ts';
import { runOnlyOnce } from './only-once.ts';
import { runFields } from '../../kernel/run-fields.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import type { StrictAnswer } from '../../kernel/strict-resume.ts';
import type { Following, Subscription } from '../../stream/bus.ts';
import { loadEarlierRun, loadEarlierRuns } from './earlier-run.ts';
import { createFeedbackTokens, type AskedPlace } from './feedback.ts';
import { insertPlanned, insertTogether, type InsertDeps } from './insert.ts';
import {
  planRun,
  type AskedContext,
  type PlanDeps,
  type PlannedRun,
  type RequestFacts,
} from './plan.ts';
import type { Readers } from '../reading/readers.ts';

/** The parts that making runs needs. */
export type CreateDeps = InsertDeps &
  PlanDeps & {
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

type CreateOptions = {
  /** Undefined means a thread of its own. */
  threadId: string | undefined;
  /** Follows the run from its first event on; read it with the `Readers`. */
  follow: Following | undefined;
  request: RequestFacts;
  /** Set when the run publishes protocol events. */
  protocol?: true;
  /** The questions that the run's command answers, if they are open when it begins; otherwise it brings new input. */
  answers?: string[] | undefined;
  /** The state in which the thread takes the run, where its command does not say it. */
  answering?: StrictAnswer | undefined;
  /** Set when a thread of the run's own stays if the run waits for an answer. */
  keepsWaiting?: true;
  /** Whom the task tells that the run begins, or which task it goes on with. */
  task?: TaskOfRun | undefined;
  /** The facts that the run takes from its assistant and thread, where the caller has asked for them already. */
  context?: AskedContext | undefined;
  /** That of the request, where it is carried out once. */
  key?: RequestKey | undefined;
};

/** Makes a run as `makeRun` does, or returns the one that the same request made before. Throws a 410 if it is gone. */
export function createRun(
  deps: CreateDeps,
  body: RunCreate,
  options: CreateOptions,
): Promise<CreatedRun> {
  const { key, follow, request } = options;
  return runOnlyOnce(deps.db, key, {
    make: () => makeRun(deps, body, options),
    again: async ([runId]) => {
      const { run, followed } = await loadEarlierRun(deps, runId!, {
        caller: request.caller,
        follow,
      });
      return { run, subscription: followed?.subscription, before: followed?.progress, readers: [] };
    },
  });
}

/**
 * Tells all processes of a run that publishes protocol events, for their readers of its thread. The client need not
 * wait for it, because others find the run in the table sooner or later.
 */
export function announceProtocolRun(
  { readers, log }: { readers: Readers; log: CreateDeps['log'] },
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

/**
 * Makes a run, which waits for a worker or starts at once; every protocol comes in here. It takes one statement when no
 * other run has to be stopped and none can refuse it, and otherwise one transaction that holds the thread. Throws
 * `Invalid`, `Rejected` or `NotFound` for a faulty body, `Conflict` when the thread is busy and the strategy is to
 * reject, and some refusal when the request's key is kept already.
 */
export async function makeRun(
  deps: CreateDeps,
  body: RunCreate,
  { follow, request, key, ...options }: CreateOptions,
): Promise<CreatedRun> {
  const repeatable =
    key !== undefined && follow !== undefined ? ({ repeatable: true } as const) : {};
  const planned = await planRun(deps, body, { request, ...options, ...repeatable });
  return make(deps, key === undefined ? planned : { ...planned, key }, { follow, request });
}

type BatchRequest = { request: RequestFacts; key: RequestKey | undefined };

/**
 * Makes runs on threads of their own, which wait for a worker; or none when one of them must be refused, not all of
 * them may wait, or the database fails. A refusal of one names the run's place in the list. Returns those that the same
 * request made before, if it did; throws a 410 if one of them is gone.
 */
export function createRuns(
  deps: CreateDeps,
  bodies: RunCreate[],
  { request, key }: BatchRequest,
): Promise<Run[]> {
  return runOnlyOnce(deps.db, key, {
    make: () => makeRuns(deps, bodies, { request, key }),
    again: (made) => loadEarlierRuns(deps, made, request.caller),
  });
}

async function makeRuns(
  deps: CreateDeps,
  bodies: RunCreate[],
  { request, key }: BatchRequest,
): Promise<Run[]> {
  const all: PlannedRun[] = [];
  for (const [at, body] of bodies.entries())
    all.push(await planRun(deps, body, { threadId: undefined, request }).catch(buildRethrow(at)));
  const address = deps.requests.address(request);
  const planned = all.map((run) => ({ ...run, readers: [] }));
  const ids = planned.map(({ run_id }) => run_id);
  const made = await insertTogether(deps, planned, async (tx) => {
    if (key !== undefined) await keepRequestKey(tx, key, ids);
    for (const run of planned) await openFeedback(tx, run, address);
  });
  return made.map(({ run }) => run);
}

/** Opens places for the feedback on a run, where it asks for them. */
async function openFeedback(db: Db, run: PlannedRun, address: string): Promise<void> {
  const tokens = createFeedbackTokens(run.kwargs.feedback_keys, address);
  if (tokens.length > 0) await insertFeedbackTokens(db, run, tokens);
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

async function make(
  deps: CreateDeps,
  planned: PlannedRun,
  { follow, request }: { follow: Following | undefined; request: RequestFacts },
): Promise<CreatedRun> {
  const { run_id, kwargs } = planned;
  const { registered, subscription, made } = deps.readers.expectRun(run_id, follow);
  // Who starts a run that publishes protocol events mostly follows its thread here, or is about to.
  const next = {
    ...planned,
    readers: kwargs.protocol === true ? [deps.signals.processId] : registered,
  };
  try {
    await openFeedback(deps.db, next, deps.requests.address(request));
    const { run, thread_readers } = await insertPlanned(deps, next);
    deps.log.debug(runFields({ run_id, thread_id: run.thread_id, kwargs }), 'run created');
    // The answer shows the run as it was made, however soon it started.
    return {
      run: { ...run, status: 'pending' },
      subscription,
      readers: [...next.readers, ...thread_readers],
    };
  } catch (error) {
    subscription?.close();
    throw error;
  } finally {
    made();
  }
}
