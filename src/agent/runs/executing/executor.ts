import type { JobSettings } from '../../../config/agent/agent.ts';
import { toError, Conflict, Unavailable } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { Cursor } from '../../../schema/agent/stream-event.ts';
import type { OpenSpan, Tracing } from '../../../tracing/spans.ts';
import type { Outcome } from '../../../schema/wire/wall/run-in-thread.ts';
import { Batcher } from '../../db/base/batcher.ts';
import { finishRuns, type FinishRun, type WrittenEnd } from '../../db/runs/ends.ts';
import type { Claimed } from '../../db/runs/leases.ts';
import { LongStates } from '../../db/fields/long-states.ts';
import type { Database } from '../../db/base/pool.ts';
import { retryDeadlock } from '../../db/base/retry-deadlock.ts';
import type { Signals } from '../../db/base/signals.ts';
import type { Tickets } from '../../queue/tickets.ts';
import type { StreamLog } from '../../stream/log.ts';
import { Publisher, type PublishedRun } from '../../stream/publisher.ts';
import { adoptEvents, loadLastCursor } from '../../stream/tail.ts';
import { runUnderContext } from '../../kernel/encryption-context.ts';
import { runFields } from '../../kernel/run-fields.ts';
import type { GraphHost } from '../../graphs/host.ts';
import type { CarriedOut, End, RunFacts, StopReason } from './end.ts';
import type { EndedRuns } from './ended-runs.ts';
import type { UsageLedger } from './usage-ledger.ts';
import { finish, publishRunError, publishLastEvents } from './ends/finish.ts';
import { leaveRun } from './ends/forget.ts';
import { returnToQueue } from './ends/hand-back.ts';
import { rollBack } from './ends/roll-back.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import {
  beginLife,
  isLost,
  stepLife,
  type Effect,
  type Life,
  type LifeEvent,
  type LifeStep,
  type TimerName,
} from './life.ts';
import { BoundedRun, type BoundDeps } from './bounded-run.ts';
import { PendingRequests } from './pending-requests.ts';
import type { Readers } from '../reading/readers.ts';
import { beginRunSpan, buildRunSpanEnd, buildSpanTrace } from './span.ts';

type Deps = {
  db: Database;
  host: GraphHost;
  publisher: Publisher;
  eventLog: StreamLog;
  readers: Readers;
  signals: Signals;
  tickets: Tickets;
  jobs: JobSettings;
  webhooks: Webhooks;
  tracing: Tracing | undefined;
  endedRuns: EndedRuns;
  /** Undefined where the usage of models is not measured. */
  ledger: UsageLedger | undefined;
  /** The budgets of runs, and where the calls of those that have some are recorded. */
  bounds: BoundDeps;
  /** Whether spans hold the inputs and outputs of runs, and whether requests of graphs carry their traces on. */
  traces: { contents: boolean; passesOn: boolean } | undefined;
  /** Whether clients hear where a graph failed. */
  tellsStacks: boolean;
  log: Log;
};

/** A run that this process has claimed and not yet released. */
type HeldRun = PublishedRun & {
  run: Claimed;
  facts: RunFacts;
  life: Life;
  span: OpenSpan | undefined;
  at: Cursor;
  timers: Map<TimerName, NodeJS.Timeout>;
  /** Whether calls of its models may have been recorded. */
  hasCalls: boolean;
  /** Undefined where no budget bounds it. */
  bounded: BoundedRun | undefined;
  /** Ends the waiting for somebody who reads the run's events, where nobody does so far. */
  waitNoLonger: () => void;
  /** Settles `over`, the promise of `execute`. */
  released: (next: string | undefined) => void;
  over: Promise<string | undefined>;
};

/** The end of a run whose answer to the question of a budget ends it. */
const STOPPED: Outcome = { status: 'success', waiting: false, interrupts: '{}' };

/** The end here of a run that waits in the queue. */
const QUEUED: Outcome = { status: 'interrupted', waiting: false, lost: true };

/** Characters of long states that are remembered, so that the next runs of their threads write only the additions. */
const REMEMBERED_CHARACTERS = 16 * 1024 * 1024;

/**
 * Executes claimed runs in the graph threads and carries their events and results to the database and to readers. It
 * decides nothing: it holds each run's life, sends events to the machine of `life.ts`, and carries out its effects.
 */
export class Executor {
  readonly #deps: Deps & { finishes: Batcher<FinishRun, WrittenEnd> };
  readonly #held = new Map<string, HeldRun>();
  readonly #pending = new PendingRequests();
  #drains = false;

  constructor(deps: Deps) {
    const longStates = new LongStates(REMEMBERED_CHARACTERS);
    this.#deps = {
      ...deps,
      finishes: new Batcher((runs) => retryDeadlock(() => finishRuns(deps.db, runs, longStates))),
    };
  }

  get count(): number {
    return this.#held.size;
  }

  /** Returns the runs under way, each with the number of its attempt. */
  listAttempts(): Map<string, number> {
    return new Map([...this.#held].map(([id, { run }]) => [id, run.attempt]));
  }

  has(runId: string): boolean {
    return this.#held.has(runId);
  }

  /** Executes a run. Settles when it is over, with its thread if another run waits there. Never fails. */
  execute(run: Claimed): Promise<string | undefined> {
    const former = this.#held.get(run.run_id);
    if (former !== undefined) return this.#executeAfterFormer(former, run);
    const { promise: over, resolve: released } = Promise.withResolvers<string | undefined>();
    const { jobs, tellsStacks } = this.#deps;
    const facts = {
      alone: run.alone,
      temporary: run.temporary,
      timeoutSeconds: jobs.timeoutSeconds,
      tellsStacks,
    };
    const requested = this.#pending.take(run);
    const readers = new Set([...run.readers, ...requested.readers]);
    readers.delete(this.#deps.signals.processId);
    const [life, effects] = beginLife(requested.stop ?? run.cancel ?? undefined, facts);
    const held: HeldRun = {
      run,
      facts,
      life,
      span: beginRunSpan(this.#deps.tracing, run),
      at: { ms: 0, seq: 0 },
      thread_seq: run.thread_seq,
      readers,
      timers: new Map(),
      hasCalls: false,
      bounded: undefined,
      waitNoLonger: () => undefined,
      released,
      over,
    };
    this.#held.set(run.run_id, held);
    this.#deps.endedRuns.countBegun(run);
    this.#deps.log.info(
      { ...runFields(run), graph_id: run.graph_id, attempt: run.attempt },
      'run started',
    );
    this.#applyStep(held, [life, effects]);
    if (this.#drains) this.#handleEvent(held, { event: 'drain-requested' });
    void runUnderContext(run.kwargs.encryption_context, () => this.#give(held));
    return over;
  }

  /** Executes a run once its former attempt here, which has lost it, is over. */
  async #executeAfterFormer(former: HeldRun, run: Claimed): Promise<string | undefined> {
    this.#handleEvent(former, { event: 'stop-requested', reason: 'lost' });
    await former.over;
    return this.execute(run);
  }

  /** Has all runs, those that begin later too, stop between two of their steps and go on elsewhere. */
  drain(): void {
    this.#drains = true;
    for (const held of this.#held.values()) this.#handleEvent(held, { event: 'drain-requested' });
  }

  /** Asks a run to stop. A run that has not begun here hears of it when it begins. */
  stop(runId: string, reason: StopReason): void {
    const held = this.#held.get(runId);
    if (held === undefined) this.#pending.addStop(runId, reason);
    else this.#handleEvent(held, { event: 'stop-requested', reason });
  }

  addReader(runId: string, reader: string): void {
    if (reader === this.#deps.signals.processId) return;
    const held = this.#held.get(runId);
    if (held === undefined) this.#pending.addReader(runId, reader);
    else {
      held.readers.add(reader);
      this.#deps.host.startEvents(runId);
    }
  }

  addThreadReader(threadId: string, reader: string): void {
    this.#pending.addReader(threadId, reader);
    for (const { run } of this.#held.values())
      if (run.thread_id === threadId) this.addReader(run.run_id, reader);
  }

  async waitUntilIdle(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    while (this.#held.size > 0 && Date.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async #give(held: HeldRun): Promise<void> {
    const { run_id, thread_id, graph_id, attempt, kwargs, empty, alone } = held.run;
    const { host, publisher, eventLog, tracing, endedRuns, ledger, log } = this.#deps;
    const isMeasured = ledger?.isMeasured(graph_id) === true;
    try {
      if (attempt > 1) await this.#adoptEarlierEvents(held);
      held.bounded = await BoundedRun.open(this.#deps.bounds, held.run);
      if ((await held.bounded?.returnIfSpent(this.#deps)) === true) {
        this.#handleEvent(held, { event: 'given' });
        return this.#handleEvent(held, { event: 'graph-ended', outcome: QUEUED });
      }
      if ((await held.bounded?.endIfStopped(host)) === true) {
        this.#handleEvent(held, { event: 'given' });
        return this.#handleEvent(held, { event: 'graph-ended', outcome: STOPPED });
      }
      const more = {
        ...(isMeasured ? { measures_usage: true } : endedRuns.decideMeasuring(attempt)),
        ...(held.bounded && { measures_usage: true, bounded: true }),
        ...buildSpanTrace(held.span, this.#deps.traces?.passesOn === true),
      };
      const unheard = !publisher.isHeard(held);
      if (unheard)
        held.waitNoLonger = publisher.watchForReader(held, () => host.startEvents(run_id));
      await host.run(
        { run_id, thread_id, graph_id, attempt, kwargs, empty, alone, unheard, ...more },
        {
          events: (batch) => {
            if (!isLost(held.life)) publisher.publish(held, batch);
          },
          written: () => eventLog.waitUntilWritten(thread_id),
          spans: (spans) => tracing?.add(spans),
          usage: (calls) => {
            endedRuns.recordCalls(run_id, calls);
            if (held.bounded !== undefined) held.bounded.record(calls);
            else if (isMeasured) ledger?.add(held.run, calls);
          },
          admit: async (call) => held.bounded?.admit(call),
          done: (outcome) => this.#handleEvent(held, { event: 'graph-ended', outcome }),
          gone: (loss) => this.#handleEvent(held, { event: 'thread-gone', loss }),
        },
      );
      // Somebody may have come while the run waited for its thread.
      if (unheard && publisher.isHeard(held)) host.startEvents(run_id);
      this.#handleEvent(held, { event: 'given' });
    } catch (error) {
      log.error(
        { err: toError(error), ...runFields(held.run) },
        'run could not be given to a graph thread',
      );
      this.#handleEvent(held, { event: 'not-given' });
    }
  }

  /** Goes on counting behind the events of the run's attempts before. */
  async #adoptEarlierEvents(held: HeldRun): Promise<void> {
    const { db, eventLog } = this.#deps;
    const source = { db, tail: eventLog.tail };
    held.thread_seq = Math.max(
      held.thread_seq,
      await adoptEvents(source, held.run, eventLog.lifeSeconds),
    );
    held.at = (await loadLastCursor(source, held.run.run_id)) ?? held.at;
  }

  #handleEvent(held: HeldRun, event: LifeEvent): void {
    this.#applyStep(held, stepLife(held.life, event, held.facts));
  }

  #applyStep(held: HeldRun, [life, effects]: LifeStep): void {
    held.life = life;
    // The event may come out of the work of another run.
    runUnderContext(held.run.kwargs.encryption_context, () =>
      effects.forEach((effect) => this.#applyEffect(held, effect)),
    );
  }

  #applyEffect(held: HeldRun, effect: Effect): void {
    const { host, log } = this.#deps;
    const { run_id } = held.run;
    switch (effect.do) {
      case 'set-timer':
        clearTimeout(held.timers.get(effect.timer));
        held.timers.set(
          effect.timer,
          setTimeout(() => this.#handleEvent(held, effect.expires), effect.milliseconds),
        );
        return;
      case 'clear-timer':
        clearTimeout(held.timers.get(effect.timer));
        return;
      case 'abort':
        host.abort(run_id, effect);
        return;
      case 'drain':
        host.drain(run_id);
        return;
      case 'kill':
        void host.kill(held.run);
        return;
      case 'say-last-events':
        void this.#try(held, async () => ({
          event: 'last-events-sent',
          feedback: await publishLastEvents(this.#deps, held, effect.end),
        }));
        return;
      case 'say-error':
        void this.#try(held, async () => {
          await publishRunError(this.#deps, held, effect.error);
          return { event: 'last-events-sent', feedback: undefined };
        });
        return;
      case 'write-end':
        void this.#try(held, () => this.#write(held, effect));
        return;
      case 'log':
        log[effect.level]({ err: effect.error, ...runFields(held.run) }, effect.message);
        return;
      default:
        this.#release(held, effect);
    }
  }

  /** Does one part of the end, and reports the result to the machine. */
  async #try(held: HeldRun, work: () => Promise<LifeEvent>): Promise<void> {
    const event = await work().catch((error: unknown): LifeEvent => {
      const passes = error instanceof Unavailable || error instanceof Conflict;
      return { event: passes ? 'end-postponed' : 'end-refused', error: toError(error) };
    });
    this.#handleEvent(held, event);
  }

  async #write(
    held: HeldRun,
    { end, feedback }: Extract<Effect, { do: 'write-end' }>,
  ): Promise<LifeEvent> {
    // An end that is written again finds the calls written.
    const ledger = held.bounded?.ledger ?? this.#deps.ledger;
    await held.bounded?.waitForReported();
    if ((await ledger?.close(held.run)) === true) held.hasCalls = true;
    await held.bounded?.close(end);
    const written = await this.#writeEnd(held, end, feedback);
    if (written === 'to-roll-back') return { event: 'end-overruled' };
    const { more, status } = written;
    if (status !== undefined) this.#deps.endedRuns.countEnded(held.run.run_id, status);
    return { event: 'end-written', more };
  }

  #writeEnd(
    held: HeldRun,
    end: End,
    feedback: Record<string, string> | undefined,
  ): Promise<CarriedOut | 'to-roll-back'> {
    switch (end.kind) {
      case 'forget':
        return leaveRun(this.#deps, held.run);
      case 'hand-back':
        return returnToQueue(this.#deps, held.run, end);
      case 'roll-back':
        return rollBack(this.#deps, held);
      default:
        return finish(this.#deps, held, { end, feedback, hasCalls: held.hasCalls });
    }
  }

  #release(
    { run, span, waitNoLonger, released }: HeldRun,
    { end, more }: Extract<Effect, { do: 'release' }>,
  ): void {
    this.#held.delete(run.run_id);
    this.#deps.endedRuns.removeRun(run.run_id);
    waitNoLonger();
    span?.end(buildRunSpanEnd(run, end, this.#deps.traces?.contents === true));
    released(more ? run.thread_id : undefined);
  }
}
