import { Invalid, NotFound, Rejected } from '../../errors.ts';
import type { Cron, CronCreate, CronPatch } from '../../schema/agent/cron.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { getCron, holdCron, insertCron, updateCron } from '../db/crons/crons.ts';
import type { RunPermits } from '../db/runs/guarded-run-context.ts';
import type { Database } from '../db/base/pool.ts';
import { resolveAssistantId, createId } from '../kernel/ids.ts';
import { runOnlyOnce, refuseGone } from '../runs/making/only-once.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import { checkFields } from '../runs/making/kwargs.ts';
import { permitAssistant } from '../runs/making/permit-run.ts';
import { checkCall } from '../runs/making/check-call.ts';
import { loadRunContext } from '../runs/making/context.ts';
import type { RequestDeps } from '../runs/making/request.ts';
import type { CronClock } from './clock.ts';
import { pickCronCall, buildCronRun, toClientCron, type RunsCron } from './call.ts';
import { mergeCronWhen, buildCronWhen } from './when.ts';

/** The parts that making and changing crons needs. */
export type CronDeps = RequestDeps & {
  db: Database;
  clock: CronClock;
};

type Completion = Cron['on_run_completed'];

type Place = { threadId: string | null; caller: AgentCaller };
type CronRequest = Place & { key: RequestKey | undefined };

/**
 * Makes a cron, or returns the one that the same request made before. Throws `Invalid` if it can't fire or can't
 * run, `NotFound` for an assistant or a thread, and a 410 for a cron that is gone.
 */
export function makeCron(
  deps: CronDeps,
  body: CronCreate,
  { key, ...place }: CronRequest,
): Promise<Cron> {
  return runOnlyOnce(deps.db, key, {
    make: () => createCron(deps, body, { key, ...place }),
    again: async ([cron_id]) => {
      const { permits } = await askPermission(place.caller, 'crons:read', { cron_id: cron_id! });
      return toClientCron((await getCron(deps.db, cron_id!, permits)) ?? refuseGone('The cron'));
    },
  });
}

async function createCron(
  deps: CronDeps,
  body: CronCreate,
  { key, ...place }: CronRequest,
): Promise<Cron> {
  const { threadId: thread_id, caller } = place;
  const ids = {
    cron_id: createId(),
    thread_id,
    assistant_id: resolveAssistantId(body.assistant_id, deps.graphs),
  };
  const owner = caller.guard?.user;
  const user_id = owner?.identity ?? null;
  const { value: asked } = await askPermission(caller, 'crons:create', {
    ...ids,
    user_id,
    ...pickHandlerFields(body),
  });
  const permits = await askPermits(deps, place, ids.assistant_id);
  const when = buildCronWhen(
    { ...body, schedule: asked.schedule, end_time: asked.end_time },
    new Date(),
  );
  const on_run_completed = chooseCompletion(thread_id, body.on_run_completed, 'delete');
  const cron = {
    ...ids,
    payload: pickCronCall(asked.payload),
    metadata: asked.metadata,
    on_run_completed,
  };
  checkRun(
    deps,
    cron,
    await loadRunContext(
      deps,
      { assistantId: ids.assistant_id, threadId: thread_id ?? createId() },
      permits,
    ),
  );
  const stored = await insertCron(deps.db, { ...cron, ...when, user_id, owner }, key);
  if (stored === undefined) throw new NotFound('Thread or assistant not found.');
  deps.clock.announce(stored.next_run_date);
  return toClientCron(stored);
}

function checkRun(deps: CronDeps, cron: RunsCron, from: Parameters<typeof checkCall>[2]): void {
  const run = buildCronRun(cron);
  checkFields(run, cron.thread_id ?? undefined);
  checkCall(deps, run, from);
}

const pickHandlerFields = (
  body: CronCreate,
): {
  end_time: string | null;
  payload: CronPatch;
  metadata: Cron['metadata'];
  schedule: string;
} => ({
  schedule: body.schedule,
  end_time: body.end_time ?? null,
  payload: pickCronCall(body),
  metadata: body.metadata ?? {},
});

async function askPermits(
  deps: CronDeps,
  { threadId, caller }: Place,
  assistantId: string,
): Promise<RunPermits | undefined> {
  if (caller.guard === undefined) return undefined;
  const assistant = await permitAssistant({ caller, graphs: deps.graphs }, assistantId);
  const thread =
    threadId === null
      ? undefined
      : (await askPermission(caller, 'threads:read', { thread_id: threadId })).permits;
  return { assistant, thread };
}

/** Returns the action on the threads of runs: the one asked for, or else the other one. A given thread is kept. */
function chooseCompletion(
  threadId: string | null,
  asked: Completion | undefined,
  other: Completion,
): Completion {
  if (threadId === null) return asked ?? other;
  if (asked !== 'delete') return null;
  const msg = 'The runs of this cron are on a given thread, which is kept';
  throw new Invalid([{ loc: ['body', 'on_run_completed'], msg, type: 'not_supported' }]);
}

/** Changes the fields of a cron. Throws `NotFound` when it is not there, and the errors of `makeCron`. */
export async function patchCron(
  deps: CronDeps,
  body: CronPatch,
  id: string,
  caller: AgentCaller,
): Promise<Cron> {
  if (Object.values(body).every((value) => value === undefined))
    throw new Rejected('Request body cannot be empty');
  const asked = {
    cron_id: id,
    schedule: body.schedule ?? null,
    payload: pickCronCall(body),
    metadata: body.metadata ?? {},
  };
  const { value, permits } = await askPermission(caller, 'crons:update', asked);
  const changed = await deps.db.transaction(async (tx) => {
    const held = await holdCron(tx, id, permits);
    if (held === undefined) throw new NotFound(`Cron with ID ${id} not found`);
    const on_run_completed = chooseCompletion(
      held.thread_id,
      body.on_run_completed,
      held.on_run_completed,
    );
    const payload = { ...held.payload, ...pickCronCall(value.payload) };
    checkRun(deps, { ...held, payload }, held);
    const when = mergeCronWhen(held, { ...body, schedule: value.schedule }, new Date());
    return updateCron(tx, id, { ...when, payload, metadata: value.metadata, on_run_completed });
  });
  if (changed.enabled) deps.clock.announce(changed.next_run_date);
  return toClientCron(changed);
}
