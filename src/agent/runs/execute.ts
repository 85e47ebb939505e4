import type { JobSettings } from '../../config/agent.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { asError, Conflict, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { RunStatus } from '../../schema/run.ts';
import { RUN_DONE, runDone } from '../../schema/stream-event.ts';
import { retryDeadlock } from '../db/retry-deadlock.ts';
import { deleteRunCheckpoints } from '../db/checkpoints.ts';
import { lastEvent } from '../db/events.ts';
import { crashed as crashedRun, handBack, type Claimed } from '../db/leases.ts';
import type { Database } from '../db/pool.ts';
import { feedbackUrls } from '../db/feedback.ts';
import { finishedBefore, finishRuns, type Finished, type FinishRun } from '../db/ends.ts';
import { deleteRuns } from '../db/runs.ts';
import type { Signals } from '../db/signals.ts';
import { Batcher } from '../db/batcher.ts';
import { retireThread } from '../db/threads.ts';
import type { GraphHost } from '../threads/host.ts';
import type { Outcome } from '../threads/protocol.ts';
import type { Tickets } from '../queue/tickets.ts';
import type { Bus } from '../stream/bus.ts';
import type { EventLog } from '../stream/log.ts';
import { Publisher } from '../stream/publisher.ts';
import type { SpanExporter } from '../tracing/exporter.ts';
import { runSpan } from '../tracing/span.ts';
import { refreshThread } from './refresh.ts';
import { dropIfDeleted, settleLost, tellLost } from './lost.ts';
import { beginning, type Active } from './active.ts';
import { Early } from './early.ts';
import { endOf, refusedEnd, type End, type StopReason } from './status.ts';

type Deps = {
  db: Database;
  host: GraphHost;
  bus: Bus;
  eventLog: EventLog;
  signals: Signals;
  tickets: Tickets;
  jobs: JobSettings;
  /** Bytes of the largest message that streams carry. */
  maxEventBytes: number;
  /** Takes the spans of runs, where they are traced. */
  exporter: SpanExporter | undefined;
  log: Log;
  /** A slot is free; `next` is the thread that has another run waiting. */
  freed: (next: string | undefined) => void;
};

/** Milliseconds a graph gets to obey before its thread is ended. */
const OBEY_WITHIN = 2000;
/** Milliseconds that the end of such a run waits until its thread shows where it stands: another thread has to load the graphs for that. */
const SHOWN_WITHIN = 5000;
/** Milliseconds between two tries to write an end. */
const TRY_AGAIN = 500;
/** Seconds that the result of a temporary run is kept for readers in other processes. */
const READ_WITHIN = 60;

/** Runs claimed runs in the graph threads and carries what comes of them to the database and to readers. */
export class Executor {
  readonly #deps: Deps;
  readonly #active = new Map<string, Active>();
  readonly #early = new Early();
  /** How many runs came to which end in this process. */
  readonly ended = new Map<RunStatus, number>();
  readonly #log: Log;
  readonly #publisher: Publisher;
  readonly #ends: Batcher<FinishRun, Finished | undefined>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#ends = new Batcher((runs) => retryDeadlock(() => finishRuns(deps.db, runs)));
    this.#log = deps.log;
    this.#publisher = new Publisher(deps);
  }

  get count(): number {
    return this.#active.size;
  }

  /** The runs under way, each with the number of its attempt. */
  attempts(): Map<string, number> {
    return new Map([...this.#active].map(([id, { run }]) => [id, run.attempt]));
  }

  has(runId: string): boolean {
    return this.#active.has(runId);
  }

  async start(run: Claimed): Promise<void> {
    const active = beginning(run, this.#early, this.#deps.signals.processId);
    this.#active.set(run.run_id, active);
    const { run_id, thread_id, attempt, graph_id, kwargs, empty } = run;
    this.#log.info({ run_id, thread_id, graph_id, attempt }, 'run started');
    active.timeout = setTimeout(() => this.stop(run_id, 'timeout'), Math.min(this.#deps.jobs.timeoutSeconds * 1000, 0x7fffffff));
    try {
      if (attempt > 1) active.at = (await lastEvent(this.#deps.db, run_id)) ?? active.at;
      await this.#deps.host.run(
        { run_id, thread_id, graph_id, attempt, kwargs, empty, alone: run.alone },
        {
          events: (batch) => this.#publisher.publish(active, batch),
          written: () => this.#deps.eventLog.written(),
          spans: (spans) => this.#deps.exporter?.add(spans),
          done: (outcome) => void this.#end(active, outcome),
          gone: (reason) => void this.#gone(active, reason),
        },
      );
      // Told to stop before a thread had it: no thread has heard of that, and the time to obey begins.
      clearTimeout(active.obey);
      active.obey = undefined;
      if (active.stopped !== undefined) this.stop(run_id, active.stopped);
    } catch (error) {
      this.#log.error({ err: asError(error), run_id }, 'run could not be given to a graph thread');
      void this.#gone(active, 'killed');
    }
  }

  /** Tells the graph to stop; one that does not obey in time loses its thread. The first reason counts, but a rollback outranks an interrupt. */
  stop(runId: string, reason: StopReason): void {
    const active = this.#active.get(runId);
    if (active === undefined) return this.#early.stop(runId, reason);
    if (active.stopped === undefined || (active.stopped === 'interrupt' && reason === 'rollback')) active.stopped = reason;
    this.#deps.host.abort(runId);
    active.obey ??= setTimeout(() => void this.#deps.host.kill(runId), OBEY_WITHIN);
  }

  addReader(runId: string, reader: string): void {
    if (reader === this.#deps.signals.processId) return;
    const active = this.#active.get(runId);
    if (active === undefined) this.#early.reader(runId, reader);
    else active.readers.add(reader);
  }

  addThreadReader(threadId: string, reader: string): void {
    this.#early.reader(threadId, reader);
    for (const { run } of this.#active.values()) if (run.thread_id === threadId) this.addReader(run.run_id, reader);
  }

  /** Waits until nothing runs, or the time is over. */
  async idle(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    while (this.#active.size > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** The thread ended under the run: for another run's sake, or because of it. */
  async #gone(active: Active, reason: 'killed' | 'crashed'): Promise<void> {
    active.gone = reason;
    if (active.stopped !== undefined) return this.#end(active, { status: 'interrupted', waiting: false });
    active.stopped = 'shutdown';
    await this.#end(active, { status: 'interrupted', waiting: false });
  }

  async #end(active: Active, outcome: Outcome): Promise<void> {
    const { run } = active;
    for (const timer of [active.timeout, active.obey]) clearTimeout(timer);
    active.retry = outcome.retry === true;
    const end = endOf(outcome, active.stopped, this.#deps.jobs.timeoutSeconds);
    const more = await this.#settle(active, end, outcome).catch((error: unknown) => {
      // The lease runs out, and another worker takes the run up from its last checkpoint.
      this.#log.error({ err: asError(error), run_id: run.run_id }, 'end of run could not be written');
      return false;
    });
    this.#active.delete(run.run_id);
    this.#deps.exporter?.add([runSpan(run, end, { start: active.startedAt, end: Date.now() })]);
    this.#deps.freed(more ? run.thread_id : undefined);
  }

  /**
   * Writes the end. A database that is away, or busy with the same rows, is waited for: until it comes back nobody else can take the run, and
   * after that the lease decides. A result that it refuses fails the run at once: executed again, it would come to the same.
   */
  async #settle(active: Active, end: End, outcome: Outcome): Promise<boolean> {
    for (;;) {
      try {
        return await this.#write(active, end, outcome);
      } catch (error) {
        const { run_id } = active.run;
        if (error instanceof Unavailable || error instanceof Conflict) {
          this.#log.warn({ err: error, run_id }, 'end of run could not be written; it is tried again');
          await wait(TRY_AGAIN);
        } else if (end.kind !== 'finish' || outcome.values === undefined) throw error;
        else {
          this.#log.error({ err: asError(error), run_id }, 'result of run was refused by the database');
          const refused = refusedEnd(asError(error));
          this.#publisher.publish(active, [['error', JSON.stringify(refused.error)]]);
          await this.#publisher.heard(active);
          return this.#settle(active, refused, { status: 'error', waiting: false });
        }
      }
    }
  }

  async #write(active: Active, end: End, outcome: Outcome): Promise<boolean> {
    const { run } = active;
    const { db } = this.#deps;
    switch (end.kind) {
      case 'forget':
        await dropIfDeleted(db, run);
        return false;
      case 'hand-back': {
        await this.#giveBack(active);
        this.#log.info({ run_id: run.run_id }, 'run handed back');
        return true;
      }
      case 'delete': {
        await deleteRunCheckpoints(db, run.thread_id, run.run_id);
        const gone = await deleteRuns(db, [run.run_id]);
        this.#done(active);
        await this.#tellEnd(run.run_id, gone[0]?.readers ?? [...active.readers], undefined);
        this.#log.info({ run_id: run.run_id }, 'run rolled back');
        return true;
      }
      default:
        return this.#finish(active, end, outcome);
    }
  }

  /**
   * A thread that ends takes all its runs with it, and nobody knows which one was to blame: each goes on in a thread of its own, and only one
   * that ends that, too, loses a life. So does one whose database went away, so that what the database can't bear ends some day.
   */
  async #giveBack({ run, gone, retry }: Active): Promise<void> {
    const crashed = gone === 'crashed';
    const { db, signals, tickets, jobs } = this.#deps;
    if (!retry && !(crashed && run.alone)) {
      await handBack(db, run.run_id, { worker: signals.processId, alone: crashed });
      return tickets.send(db, run, { again: true });
    }
    const { lifeSeconds } = this.#deps.eventLog;
    const settled = await db.transaction(async (tx) => {
      const [lost] = await crashedRun(tx, run.run_id, signals.processId);
      return lost && settleLost(tx, lost, { tickets, maxAttempts: jobs.maxAttempts, lifeSeconds });
    });
    if (settled !== undefined) await tellLost(this.#deps, [settled]);
  }

  async #finish(active: Active, end: Extract<End, { kind: 'finish' }>, outcome: Outcome): Promise<boolean> {
    const { run } = active;
    const { db, signals } = this.#deps;
    const { feedback } = (active.last ??= await this.#say(active, end));
    const ending: FinishRun = {
      run_id: run.run_id,
      worker: signals.processId,
      status: end.status,
      error: end.error,
      thread: { status: end.rest, values: outcome.values, interrupts: outcome.interrupts },
    };
    const finished = (await this.#ends.add(ending)) ?? (await finishedBefore(db, ending));
    this.#log.info({ run_id: run.run_id, status: end.status }, 'run ended');
    if (finished === undefined) {
      await dropIfDeleted(db, run);
      return true;
    }
    this.#done(active);
    this.ended.set(end.status, (this.ended.get(end.status) ?? 0) + 1);
    const told = { ...outcome, ...(feedback && { feedback }), ...(end.error !== null && { status: 'error' as const, error: end.error }) };
    // Who waits for the end looks at the thread next.
    if (active.gone !== undefined && !run.temporary) await Promise.race([refreshThread(this.#deps, run), wait(SHOWN_WITHIN)]);
    await this.#tellEnd(run.run_id, finished.readers, told);
    const others = finished.readers.filter((reader) => reader !== signals.processId);
    const afterSeconds = run.resumable ? this.#deps.eventLog.lifeSeconds : others.length > 0 ? READ_WITHIN : 0;
    if (run.temporary) await retireThread(db, run.thread_id, { afterSeconds });
    return finished.more;
  }

  /**
   * For those who follow the thread: the run is over, and what it came to can be read. Nobody waits for it to be told, and the thread's next run may
   * have begun elsewhere: its id tells of the moment of the last event, so that it stands before that run.
   */
  #done(active: Active): void {
    this.#publisher.publish(active, [[RUN_DONE, runDone(active.run.run_id)]], active.at.ms || Date.now());
  }

  /** Where feedback is given on a run that came to an end of its own. */
  async #feedback({ run_id, kwargs }: Claimed, { status }: { status: RunStatus }): Promise<Outcome['feedback']> {
    return kwargs.feedback_keys === null || status === 'interrupted' ? undefined : feedbackUrls(this.#deps.db, run_id);
  }

  /** The last events of the run, for all who read it. */
  async #say(active: Active, end: Extract<End, { kind: 'finish' }>): Promise<NonNullable<Active['last']>> {
    const { run } = active;
    const feedback = await this.#feedback(run, end);
    if (feedback !== undefined) this.#publisher.publish(active, [['feedback', JSON.stringify(feedback)]]);
    if (end.error !== null) this.#publisher.publish(active, [['error', JSON.stringify(end.error)]]);
    await this.#publisher.heard(active);
    return { feedback };
  }

  async #tellEnd(runId: string, readers: string[], outcome: Outcome | undefined): Promise<void> {
    const { bus, signals } = this.#deps;
    bus.say(runId, { kind: 'end', outcome });
    for (const reader of readers) if (reader !== signals.processId) await signals.send({ about: 'end', run_id: runId }, reader);
  }
}
