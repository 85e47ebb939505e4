import type { EventTail } from '../../stream/tail.ts';
import type { JobSettings } from '../../../config/agent/agent.ts';
import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import {
  lockAbandonedRuns,
  lockExpiredRuns,
  renewLeases,
  type Lost,
} from '../../db/runs/leases.ts';
import { deleteExpiredEvents } from '../../db/events/events.ts';
import { deleteOldProtocolEvents } from '../../db/events/protocol-events.ts';
import { deleteUnusedFeedback } from '../../db/runs/feedback.ts';
import type { Database, Db } from '../../db/base/pool.ts';
import { loadEndedRunIds } from '../../db/runs/runs.ts';
import { deleteRetiredThreads } from '../../db/threads/threads.ts';
import type { Signals } from '../../db/base/signals.ts';
import { deleteDeadWorkers, type WorkerLock } from '../../db/base/worker-locks.ts';
import type { Tickets } from '../../queue/tickets.ts';
import type { GraphHost } from '../../graphs/host.ts';
import type { EndedRuns } from './ended-runs.ts';
import type { Executor } from './executor.ts';
import { logLost, settleLost, notifyLost, type SettledRun } from './lost.ts';
import type { Readers } from '../reading/readers.ts';

type Deps = {
  db: Database;
  host: GraphHost;
  tickets: Tickets;
  signals: Signals;
  readers: Readers;
  eventLog: { lifeSeconds: number; tail: EventTail | undefined };
  executor: Executor;
  endedRuns: EndedRuns;
  pump: { works: boolean };
  jobs: JobSettings;
  log: Log;
};

const CLEAN_SECONDS = 30;
const WATCH_SECONDS = 5;

/**
 * Does the recurring work of a process: it says that its runs live, takes up those of dead workers, and deletes expired
 * data.
 */
export class Keeper {
  readonly #deps: Deps;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(): void {
    const third = (this.#deps.jobs.leaseSeconds * 1000) / 3;
    this.#repeat(third, () => this.renew());
    this.#repeat(WATCH_SECONDS * 1000, () => this.watch());
    // Every process looks at once and then again and again, because workers that keep dying may not live for one
    // interval.
    this.#repeat(third, () => this.takeUp());
    void this.takeUp().catch((error: unknown) =>
      this.#deps.log.warn({ err: toError(error) }, 'the search for lost runs failed'),
    );
    if (!this.#deps.pump.works) return;
    this.#repeat(CLEAN_SECONDS * 1000, () => this.deleteExpired());
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #repeat(milliseconds: number, work: () => Promise<void>): void {
    let busy = false;
    const runOnce = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      await work().catch((error: unknown) =>
        this.#deps.log.warn({ err: toError(error) }, 'upkeep failed; it will be tried again'),
      );
      busy = false;
    };
    this.#timers.push(setInterval(() => void runOnce(), milliseconds));
  }

  /**
   * Says in one statement that all runs of this process live. The answer also brings the stops whose signal was missed.
   * `toStop` are runs that others want stopped; they may be this process's before it knows.
   */
  async renew(toStop: string[] = []): Promise<void> {
    const { db, executor, jobs, signals } = this.#deps;
    const attempts = executor.listAttempts();
    const asked = [...new Set([...attempts.keys(), ...toStop])];
    if (asked.length === 0) return;
    const renewed = await renewLeases(db, asked, {
      worker: signals.processId,
      leaseSeconds: jobs.leaseSeconds,
    });
    const ours = new Set(renewed.map(({ run_id }) => run_id));
    const now = executor.listAttempts();
    // A run that was handed back meanwhile may have begun here again.
    for (const [id, attempt] of attempts)
      if (!ours.has(id) && now.get(id) === attempt) executor.stop(id, 'lost');
    for (const { run_id, cancel } of renewed) if (cancel !== null) executor.stop(run_id, cancel);
  }

  /**
   * Settles runs whose worker has gone silent: they go back to the queue, come to the end that was asked for, or fail
   * after too many lost lives.
   */
  takeUp(): Promise<void> {
    return this.#settle(
      (tx) => lockExpiredRuns(tx, this.#deps.jobs),
      'worker of a run went silent',
    );
  }

  /** Settles the runs of workers that are dead, as their locks show, and forgets those workers. */
  async takeOver(locks: WorkerLock[]): Promise<void> {
    await this.#settle((tx) => lockAbandonedRuns(tx, locks), 'worker of a run died');
    await deleteDeadWorkers(this.#deps.db, locks);
    // The webhooks that those were sending are due again.
    await this.#deps.signals.send({ about: 'webhook' });
  }

  async #settle(find: (tx: Db) => Promise<Lost[]>, message: string): Promise<void> {
    const { db, tickets, jobs, signals, eventLog } = this.#deps;
    const lost = await db.transaction(async (tx) => {
      const settled: SettledRun[] = [];
      for (const run of await find(tx))
        settled.push(
          await settleLost(tx, run, { tickets, maxAttempts: jobs.maxAttempts, eventLog }),
        );
      return settled;
    });
    for (const run of lost) if (run.begun) this.#deps.endedRuns.countLost(run);
    logLost(this.#deps, lost, message);
    // A worker that lives after all stops its lost runs at once, and not when it next renews its leases.
    await Promise.all(
      lost.map(({ run_id, worker }) => signals.send({ about: 'stop', run_id }, worker)),
    );
    await notifyLost(this.#deps, lost);
    await this.#wakeFor(lost);
    if (lost.some(({ ended, told }) => ended && told)) await signals.send({ about: 'webhook' });
  }

  /** Wakes workers for runs that are back in the queue. Those of other revisions have no ticket. */
  async #wakeFor(lost: SettledRun[]): Promise<void> {
    const { signals, tickets } = this.#deps;
    const others = new Set(
      lost.flatMap(({ revision }) =>
        tickets.has(revision) || revision === null ? [] : [revision],
      ),
    );
    if (lost.length > 0) await signals.send({ about: 'ticket' });
    if (others.size > 0) await signals.send({ about: 'ticket', revisions: [...others] });
  }

  /** Notices the ends of followed runs elsewhere whose signal got lost. */
  async watch(): Promise<void> {
    const { db, readers, executor } = this.#deps;
    const followed = readers.listFollowedHere().filter((id) => !executor.has(id));
    if (followed.length === 0) return;
    for (const id of await loadEndedRunIds(db, followed)) readers.endHere(id);
  }

  async deleteExpired(): Promise<void> {
    const { db } = this.#deps;
    await deleteExpiredEvents(db);
    await deleteOldProtocolEvents(db, this.#deps.eventLog);
    await deleteRetiredThreads(db);
    await deleteUnusedFeedback(db);
    await this.#deps.tickets.dropGone();
  }
}
