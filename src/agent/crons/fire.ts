import { setTimeout as wait } from 'node:timers/promises';
import { toError, Conflict, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import type { AgentCaller } from '../auth/caller.ts';
import {
  deleteCronsWithoutThread,
  loadDueCrons,
  takeTicks,
  type DueCron,
  type SeenTick,
} from '../db/crons/cron-ticks.ts';
import type { NewRun } from '../db/runs/runs.ts';
import { runUnderContext } from '../kernel/encryption-context.ts';
import { createId } from '../kernel/ids.ts';
import { notifyStopped } from '../runs/cancel.ts';
import { insertOnHeldThread, wakeFor, type InsertDeps } from '../runs/insert.ts';
import { planRun, type PlanDeps } from '../runs/plan.ts';
import { buildCronRun } from './call.ts';
import { findNextDate } from './when.ts';

/** The parts that making the runs of crons needs. */
export type FireDeps = InsertDeps &
  PlanDeps & {
    /** Returns a caller that stands for the user who made a cron. Throws where such a cron must not fire. */
    callerFor: (owner: AuthUser | null) => Promise<AgentCaller>;
    log: Log;
  };

/** Crons of one transaction: enough that a batch costs little, few enough that nobody waits long for one of them. */
const BATCH = 100;

/** Milliseconds by which a tick before the end of its cron may be late. */
const LATE = 5000;

/** A tick with its run; without one, the tick is passed over. */
type Tick = SeenTick & { cron: DueCron; run?: NewRun };

/** Milliseconds for which others wait for a tick whose handlers think. It is taken alone, when they have decided. */
const TOGETHER = 50;

/**
 * Makes the runs of crons that are due, but for the `slow` ones, which are on their way. The call of a tick is
 * decided before it is taken, so that nothing is held while a handler thinks; another process may take it meanwhile.
 * Returns how many ticks were due, and how many were taken.
 */
export async function runDueCrons(
  deps: FireDeps,
  slow: Set<string>,
): Promise<{ due: number; taken: number }> {
  const due = await loadDueCrons(deps.db, {
    graphs: deps.graphs,
    except: [...slow],
    revision: deps.pinning.revision,
    limit: BATCH,
  });
  const [ticks, late] = await waitForTicks(
    due.map((cron) => ({ cron, tick: decideTick(deps, cron) })),
  );
  for (const { cron, tick } of late) void takeLate(deps, tick, { cron, slow });
  const [together, alone] = splitTicks(ticks);
  const taken = await takeTogether(deps, together);
  let count = taken + late.length;
  for (const tick of alone) count += await takeAlone(deps, tick);
  return { due: due.length, taken: count };
}

type Deciding = { cron: DueCron; tick: Promise<Tick> };

async function waitForTicks(deciding: Deciding[]): Promise<[soon: Tick[], late: Deciding[]]> {
  const timeout = new AbortController();
  const late = wait(TOGETHER, undefined, { signal: timeout.signal }).catch(() => undefined);
  const found = await Promise.all(deciding.map(({ tick }) => Promise.race([tick, late])));
  timeout.abort();
  return [
    found.filter((tick) => tick !== undefined),
    deciding.filter((_, at) => found[at] === undefined),
  ];
}

async function takeLate(
  deps: FireDeps,
  deciding: Promise<Tick>,
  { cron, slow }: { cron: DueCron; slow: Set<string> },
): Promise<void> {
  slow.add(cron.cron_id);
  // A cron that fails here stays due, and is looked at again.
  await deciding
    .then((tick) => takeAlone(deps, tick))
    .catch((error: unknown) => logSkippedRun(deps, cron, error));
  slow.delete(cron.cron_id);
}

async function decideTick(deps: FireDeps, cron: DueCron): Promise<Tick> {
  const now = new Date(cron.now);
  const next = findNextDate(cron, { after: now, end: cron.end_time });
  if (cron.end_time !== null && now.getTime() > new Date(cron.end_time).getTime() + LATE)
    return { cron, next };
  try {
    return { cron, next, run: await runUnderContext(cron.context, () => planCronRun(deps, cron)) };
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    logSkippedRun(deps, cron, error);
    return { cron, next };
  }
}

const logSkippedRun = ({ log }: FireDeps, { cron_id }: DueCron, error: unknown): void =>
  log.warn({ cron_id, err: toError(error) }, 'a run of a cron could not be made; it is left out');

async function planCronRun(deps: FireDeps, cron: DueCron): Promise<NewRun> {
  const { cron_id, thread_id } = cron;
  const caller = await deps.callerFor(cron.owner as AuthUser | null);
  const body = buildCronRun({ ...cron, metadata: { ...cron.metadata, cron_id } });
  const request = {
    requestId: createId(),
    headers: {},
    forwarded: {},
    caller,
    configurable: { cron_id },
  };
  const { thread, ...run } = await planRun(deps, body, {
    threadId: thread_id ?? undefined,
    request,
  });
  // Who keeps the threads of a cron finds them by its id.
  const metadata = thread_id === null ? { ...thread.metadata, cron_id } : thread.metadata;
  return { ...run, thread: { ...thread, metadata }, readers: [] };
}

/** Returns the ticks that one transaction can take, and those that must each have their own. */
function splitTicks(ticks: Tick[]): [together: Tick[], alone: Tick[]] {
  const threads = new Set<string>();
  const isAlone = ({ run }: Tick): boolean => {
    if (run === undefined) return false;
    const isSecond = threads.has(run.thread_id);
    threads.add(run.thread_id);
    return isSecond || run.multitask_strategy !== 'enqueue';
  };
  const { true: alone = [], false: together = [] } = Object.groupBy(
    ticks,
    (tick) => `${isAlone(tick)}`,
  );
  return [together, alone];
}

async function takeTogether(deps: FireDeps, ticks: Tick[]): Promise<number> {
  if (ticks.length === 0) return 0;
  try {
    const [taken, made] = await deps.db.transaction(async (tx) => {
      const ids = await takeTicks(tx, ticks);
      const own = ticks.filter(({ cron, run }) => ids.has(cron.cron_id) && run !== undefined);
      const inserted = await deps.inserts.waitingIn(
        tx,
        own.map(({ run }) => run!),
      );
      const lost = own
        .filter((_, at) => inserted[at] === undefined)
        .map(({ cron }) => cron.cron_id);
      if (lost.length > 0) await deleteCronsWithoutThread(tx, lost);
      return [ids.size, inserted.filter((run) => run !== undefined)] as const;
    });
    wakeFor(deps, made);
    return taken;
  } catch (error) {
    if (error instanceof Unavailable || ticks.length === 1) throw error;
    // One of them spoils the statement for all.
    let count = 0;
    for (const tick of ticks) count += await takeAlone(deps, tick);
    return count;
  }
}

/** Takes one tick. Its run's strategy is applied to the runs before it in the same transaction. */
async function takeAlone(deps: FireDeps, tick: Tick): Promise<number> {
  const { cron, run } = tick;
  try {
    const { taken, held } = await deps.db.transaction(async (tx) => {
      const ids = await takeTicks(tx, [tick]);
      if (ids.size === 0 || run === undefined) return { taken: ids.size, held: undefined };
      const made = await insertOnHeldThread(deps, tx, run).catch((error: unknown) => {
        // The thread is busy, and nothing was written.
        if (error instanceof Conflict && error.cause === undefined)
          return logSkippedRun(deps, cron, error);
        throw error;
      });
      if (made !== undefined && made.inserted === undefined)
        await deleteCronsWithoutThread(tx, [cron.cron_id]);
      return { taken: 1, held: made };
    });
    if (held?.stopped !== undefined) await notifyStopped(deps, held.stopped);
    if (held?.inserted !== undefined) wakeFor(deps, [held.inserted]);
    return taken;
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    logSkippedRun(deps, cron, error);
    const { run: _run, ...without } = tick;
    return (await deps.db.transaction((tx) => takeTicks(tx, [without]))).size;
  }
}
