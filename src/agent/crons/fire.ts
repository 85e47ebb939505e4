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
import { notifyStopped } from '../runs/executing/cancel.ts';
import { prepareRow } from '../runs/making/create-run.ts';
import { insertOnHeldThread, wakeFor, type InsertDeps } from '../runs/making/insert.ts';
import type { RequestDeps } from '../runs/making/request.ts';
import { buildCronRun } from './call.ts';
import { findNextDate } from './when.ts';

/** The parts that making the runs of crons needs. */
export type FireDeps = InsertDeps &
  RequestDeps & {
    /** Returns a caller that stands for the user who made a cron. Throws where such a cron must not fire. */
    callerFor: (owner: AuthUser | null) => Promise<AgentCaller>;
    log: Log;
  };

/** Crons of one transaction: enough that a batch costs little, few enough that nobody waits long for one of them. */
const BATCH_SIZE = 100;

/** By how much a tick before the end of its cron may be late. */
const LATE_AFTER_MS = 5000;

/** How long others wait for a tick whose handlers think. It is taken alone, when they have decided. */
const TOGETHER_MS = 50;

/** A tick with its run; without one, the tick is passed over. */
type Tick = SeenTick & { cron: DueCron; run?: NewRun };

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
    limit: BATCH_SIZE,
  });
  const decisions = due.map((cron) => ({ cron, tick: decideTick(deps, cron) }));
  const ticks = await waitForTicks(decisions.map(({ tick }) => tick));

  const late = decisions.filter((_, at) => ticks[at] === undefined);
  for (const { cron, tick } of late) void takeLate(deps, cron, tick, slow);

  const { together, alone } = splitTicks(ticks.filter((tick) => tick !== undefined));
  let taken = await takeTogether(deps, together);
  for (const tick of alone) taken += await takeAlone(deps, tick);
  return { due: due.length, taken: taken + late.length };
}

/** Decides whether a tick makes a run, and which. A cron whose run cannot be made is passed over. */
async function decideTick(deps: FireDeps, cron: DueCron): Promise<Tick> {
  const now = new Date(cron.now);
  const next = findNextDate(cron, { after: now, end: cron.end_time });
  if (cron.end_time !== null && now.getTime() > new Date(cron.end_time).getTime() + LATE_AFTER_MS)
    return { cron, next };
  try {
    return { cron, next, run: await runUnderContext(cron.context, () => planCronRun(deps, cron)) };
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    logSkippedRun(deps, cron, error);
    return { cron, next };
  }
}

async function planCronRun(deps: FireDeps, cron: DueCron): Promise<NewRun> {
  const { cron_id, thread_id } = cron;
  const caller = await deps.callerFor(cron.owner as AuthUser | null);
  const body = buildCronRun({ ...cron, metadata: { ...cron.metadata, cron_id } });
  const call = {
    requestId: createId(),
    headers: {},
    forwarded: {},
    caller,
    configurable: { cron_id },
  };
  // Who keeps the threads of a cron finds them by its id.
  const options = { threadMetadata: { cron_id } };
  return prepareRow(deps, { body, threadId: thread_id ?? undefined, call }, options);
}

/** Returns the ticks that are decided soon, each in its place; undefined stands for one that is not. */
async function waitForTicks(decisions: Promise<Tick>[]): Promise<(Tick | undefined)[]> {
  const timeout = new AbortController();
  const late = wait(TOGETHER_MS, undefined, { signal: timeout.signal }).catch(() => undefined);
  const ticks = await Promise.all(decisions.map((tick) => Promise.race([tick, late])));
  timeout.abort();
  return ticks;
}

/** Takes a tick when its handlers have decided. One that fails here stays due, and is looked at again. */
async function takeLate(
  deps: FireDeps,
  cron: DueCron,
  decision: Promise<Tick>,
  slow: Set<string>,
): Promise<void> {
  slow.add(cron.cron_id);
  try {
    await takeAlone(deps, await decision);
  } catch (error) {
    logSkippedRun(deps, cron, error);
  }
  slow.delete(cron.cron_id);
}

/** Returns the ticks that one transaction can take, and those that must each have their own. */
function splitTicks(ticks: Tick[]): { together: Tick[]; alone: Tick[] } {
  const threads = new Set<string>();
  const isAlone = ({ run }: Tick): boolean => {
    if (run === undefined) return false;
    const isSecond = threads.has(run.thread_id);
    threads.add(run.thread_id);
    return isSecond || run.multitask_strategy !== 'enqueue';
  };
  const { together = [], alone = [] } = Object.groupBy(ticks, (tick) =>
    isAlone(tick) ? 'alone' : 'together',
  );
  return { together, alone };
}

async function takeTogether(deps: FireDeps, ticks: Tick[]): Promise<number> {
  if (ticks.length === 0) return 0;
  try {
    const [taken, made] = await deps.db.transaction(async (tx) => {
      const ids = await takeTicks(tx, ticks);
      const own = ticks.filter(({ cron, run }) => ids.has(cron.cron_id) && run !== undefined);
      const inserted = await deps.insertRuns(
        own.map(({ run }) => run!),
        { kind: 'within', tx },
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

const logSkippedRun = ({ log }: FireDeps, { cron_id }: DueCron, error: unknown): void =>
  log.warn({ cron_id, err: toError(error) }, 'a run of a cron could not be made; it is left out');
