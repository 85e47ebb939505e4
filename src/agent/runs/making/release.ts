import { toError, Conflict, Problem, Unavailable } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { sleepUnlessAborted } from '../../../pause.ts';
import type { Run, RunCreate, RunKwargs } from '../../../schema/agent/run.ts';
import type { Json } from '../../../schema/json.ts';
import type { AuthUser } from '../../../schema/wire/wall/auth.ts';
import { releaseLostHolds } from '../../db/budgets/accounts.ts';
import { loadReleasedThreads, type ReleasedThread } from '../../db/budgets/chains.ts';
import { listRuns } from '../../db/runs/runs.ts';
import { runUnderContext } from '../../kernel/encryption-context.ts';
import { createId } from '../../kernel/ids.ts';
import { createRun, type CreateDeps } from './create-run.ts';
import type { RequestFacts } from './request.ts';

/* This file has threads go on that wait for a budget which others share, once it was raised or begins again. */

/** Milliseconds between two looks. A raise reaches all threads that wait for it within one. */
const LOOK_MILLISECONDS = 1000;
/** Threads that go on together. */
const TOGETHER = 100;
/** Runs that become due together. */
const QUEUED_TOGETHER = 500;
/** Looks between two that remove the holds of runs whose worker is gone. */
const LOOKS_FOR_LOST = 10;
/** Looks between two for runs that wait for budgets that are there no longer. */
const LOOKS_FOR_LEFT = 60;

type Deps = CreateDeps & { log: Log };

/** Has waiting threads and runs go on, until the signal, where runs share budgets. Never throws. */
export async function releaseWaitingThreads(deps: Deps, signal: AbortSignal): Promise<void> {
  const { budgets } = deps.bounds;
  // Budgets of the platform may come at any time, and those of an earlier revision may have left runs in the queue.
  for (let looks = 0; await sleepUnlessAborted(LOOK_MILLISECONDS, signal); looks += 1) {
    const looksForLeft = looks % LOOKS_FOR_LEFT === 0;
    if (!budgets.areShared && !looksForLeft) continue;
    try {
      if (looks % LOOKS_FOR_LOST === 0) await releaseLostHolds(deps.db);
      await releaseNow(deps, { looksForLeft, signal });
    } catch (error) {
      deps.log.warn({ err: toError(error) }, 'threads that wait for a budget go on later');
    }
  }
}

/**
 * Has the threads and the runs go on now that need wait no longer for a budget. `looksForLeft`: also runs in the queue
 * where no budget keeps any there now.
 */
export async function releaseNow(
  deps: Deps,
  { looksForLeft = false, signal }: { looksForLeft?: boolean; signal?: AbortSignal } = {},
): Promise<void> {
  if (looksForLeft || deps.bounds.budgets.keepRunsQueued) await releaseQueuedRuns(deps);
  for (const thread of await loadReleasedThreads(deps.db, TOGETHER)) {
    if (signal?.aborted === true) return;
    await goOn(deps, thread);
  }
}

/** Makes runs due that waited in the queue, with a ticket each. */
async function releaseQueuedRuns({ db, bounds, tickets, signals }: Deps): Promise<void> {
  for (let count = QUEUED_TOGETHER; count === QUEUED_TOGETHER;) {
    const runs = await bounds.budgets.releaseQueued(QUEUED_TOGETHER);
    for (const run of runs) await tickets.send(db, run);
    count = runs.length;
    if (count === 0) return;
    const revisions = new Set(runs.flatMap(({ revision }) => revision ?? []));
    await signals.send({ about: 'ticket' });
    // Those of other revisions have no ticket.
    if (revisions.size > 0) await signals.send({ about: 'ticket', revisions: [...revisions] });
  }
}

/** Makes the run by which a thread goes on: as the run that has asked, for the same user. */
async function goOn(deps: Deps, { thread_id, question_id }: ReleasedThread): Promise<void> {
  const [last] = await listRuns(deps.db, thread_id, { limit: 1, offset: 0 });
  if (last === undefined) return;
  const kwargs = last.kwargs as RunKwargs;
  try {
    await runUnderContext(kwargs.encryption_context, () =>
      createRun(
        deps,
        { body: buildBody(last, kwargs), threadId: thread_id, call: buildCall(kwargs) },
        {
          answering: { ids: [question_id] },
          ...(kwargs.protocol === true && { protocol: true }),
        },
      ),
    );
  } catch (error) {
    if (error instanceof Unavailable || !(error instanceof Problem)) throw error;
    // Somebody else had the thread go on, or it is gone, or another budget refuses new runs.
    deps.log.debug({ err: error, thread_id }, 'a thread that waits for a budget does not go on');
  }
}

function buildBody({ assistant_id, metadata }: Run, kwargs: RunKwargs): RunCreate {
  const { recursion_limit, max_concurrency, tags } = kwargs.config;
  const config = { recursion_limit, max_concurrency, tags };
  return {
    assistant_id,
    input: null,
    metadata,
    config: Object.fromEntries(
      Object.entries(config).filter(([, value]) => value !== undefined && value !== null),
    ),
    context: kwargs.context,
    webhook: kwargs.webhook,
    interrupt_before: kwargs.interrupt_before,
    interrupt_after: kwargs.interrupt_after,
    stream_mode: kwargs.stream_mode,
    stream_subgraphs: kwargs.subgraphs,
    stream_resumable: kwargs.resumable,
    durability: kwargs.durability,
  };
}

/** Returns a call that stands for the user of the run that has asked, whom nobody asks again. */
function buildCall({ config }: RunKwargs): RequestFacts {
  const { langgraph_auth_user: user } = config['configurable'] as Json;
  const own = { identity: 'budget', source: '' };
  const authorize = (): Promise<never> => Promise.reject(new Conflict('Nobody is asked.'));
  const caller =
    user === null || user === undefined
      ? own
      : { ...own, guard: { user: user as AuthUser, handles: new Set<never>(), authorize } };
  return { requestId: createId(), headers: {}, forwarded: {}, caller };
}
