import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { toError, Conflict, NotFound, Problem, skipNotFound } from '../../errors.ts';
import { buildObjectKey, type Cache } from '../../kube/cache.ts';
import { Denied, KubeRefused } from '../../kube/errors.ts';
import type { Recorder } from '../../kube/events.ts';
import type { JsonPatch, Kind, Kube } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import type { ObjectMeta } from '../../schema/platform/objects/object-meta.ts';
import type { ObjectFault } from '../../schema/platform/objects/object-fault.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import { runInTrace, type TraceContext } from '../../trace-context.ts';
import type { OpenSpan, Tracing } from '../../tracing/spans.ts';
import { buildConditions, buildPausedConditions } from './conditions.ts';
import { decideNext, buildStalledOutcome, type ReconcileOutcome, type Report } from './outcome.ts';
import { buildFailureReport, getFormerReport } from './former-report.ts';
import type { WorkQueue } from './queue.ts';
import { buildConditionEvents, buildStatusPatch, findTransition, type Status } from './status.ts';
import { dropUndefined } from '../../schema/json.ts';

const DEADLINE = 60_000;
/** Milliseconds after which a faulty object tries again to get its turn. */
const TURN = 500;

export type Resource<S extends Status> = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  status?: S;
};
export type Context = { signal: AbortSignal; log: Log; now: Date };
export type Reconcile<T, S extends object> = (object: T, context: Context) => Promise<Report<S>>;

export type Reconciler<T extends Resource<S>, S extends Status> = {
  name: string;
  kind: Kind<T>;
  cache: Cache<T>;
  reconcile: Reconcile<T, S>;
  /** Removes anything that deletion alone leaves. The finalizer stays until the outcome is settled. */
  finalizer?: { name: string; finalize: Reconcile<T, S>; isNeeded?: (object: T) => boolean };
  /**
   * Returns the report after the API server refused one of the object's children. If undefined, the reconcile is tried
   * again, as after any failure.
   */
  refused?: (object: T, refusal: KubeRefused | Denied, now: Date) => Report<S> | undefined;
  /** Returns the status, besides its conditions, while the object is out of bounds and is left as it is. */
  faulty?: (object: T, fault: ObjectFault, now: Date) => Partial<S>;
  /** Returns true while the user asks to leave the object alone. A deletion is still carried out. */
  isPaused?: (object: T) => boolean;
};

export type Result = 'success' | 'error' | 'requeue_after' | 'stalled';
export type ControllerObserver = {
  started(): void;
  done(result: Result, seconds: number): void;
  timedOut(): void;
  panicked(): void;
};

export type ControllerOptions<T extends Resource<S>, S extends Status> = {
  reconciler: Reconciler<T, S>;
  queue: WorkQueue;
  kube: Kube;
  record: Recorder;
  log: Log;
  workers: number;
  observer: ControllerObserver;
  tracing?: Tracing | undefined;
  clock: () => Date;
  /** Milliseconds that one reconcile may take. */
  deadline?: number;
};

/**
 * Takes keys from the queue and moves each object one step forward: it fetches the object, handles the finalizer,
 * reconciles, writes the status if it differs, records an event, and decides when to look again.
 */
export class Controller<T extends Resource<S>, S extends Status> {
  readonly #options: ControllerOptions<T, S>;
  /** Keys whose last reconcile lost a race against another writer. */
  readonly #raced = new Set<string>();
  #workers: Promise<void>[] = [];
  /** True while a worker has an object that is out of bounds. */
  #hasFaulty = false;

  constructor(options: ControllerOptions<T, S>) {
    this.#options = options;
  }

  start(): void {
    this.#workers = Array.from({ length: this.#options.workers }, () => this.#runWorker());
  }

  /** Takes no new keys, and resolves when the reconciles under way have finished. */
  async stop(): Promise<void> {
    this.#options.queue.close();
    await Promise.all(this.#workers);
  }

  async #runWorker(): Promise<void> {
    const { queue } = this.#options;
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      await this.#handle(key);
      queue.finish(key);
      // A reconcile that has nothing to do never yields. Thousands in a row would hold up the Lease, the probes and the
      // watches.
      await turn();
    }
  }

  async #handle(key: string): Promise<void> {
    const { reconciler, queue } = this.#options;
    const object = reconciler.cache.get(key);
    if (object === undefined) return queue.clearFailures(key);
    if (reconciler.cache.faults.findFault(key) === undefined) return this.#step(key, object);
    // The API server may take seconds for an object that is out of bounds. So many must not hold up all workers.
    if (this.#hasFaulty) return queue.addAfter(key, TURN, 'background');
    this.#hasFaulty = true;
    await this.#step(key, object);
    this.#hasFaulty = false;
  }

  async #step(key: string, object: T): Promise<void> {
    const { queue, observer } = this.#options;
    const started = performance.now();
    observer.started();
    const span = this.#beginSpan(object);
    const log = this.#logFor(object, span?.place);
    let outcome: ReconcileOutcome | 'failed' = 'failed';
    try {
      outcome = await runInTrace(span?.place, () => this.#pass(object, log));
    } catch (error) {
      this.#explain(error, log);
    }
    const next = decideNext(outcome);
    if (next.do === 'retry') queue.retry(key);
    else {
      queue.clearFailures(key);
      this.#raced.delete(key);
    }
    if (next.do === 'later') queue.addAfter(key, next.seconds * 1000);
    observer.done(toResult(outcome), (performance.now() - started) / 1000);
    span?.end({
      attributes: { 'gx.result': toResult(outcome) },
      ...(outcome === 'failed' && { error: 'The reconcile failed.' }),
    });
  }

  #beginSpan({ metadata: { namespace = '', name } }: T): OpenSpan | undefined {
    const attributes = { 'k8s.namespace.name': namespace, 'gx.object': name };
    return this.#options.tracing?.begin(`reconcile ${this.#options.reconciler.name}`, {
      attributes,
    });
  }

  #logFor({ kind, metadata }: T, place: TraceContext | undefined): Log {
    const ids = { reconcile_id: randomUUID(), ...(place && { trace_id: place.traceId }) };
    return this.#options.log.child({
      kind,
      namespace: metadata.namespace,
      name: metadata.name,
      ...ids,
    });
  }

  /** Logs a failure. Only the operator's own faults are errors: Lost races are normal, and an API server recovers. */
  #explain(error: unknown, log: Log): void {
    if (error instanceof Conflict) log.debug({ err: error }, 'reconcile lost a race');
    else if (error instanceof Problem) log.warn({ err: error }, 'reconcile failed');
    else {
      this.#options.observer.panicked();
      log.error({ err: toError(error) }, 'reconcile failed');
    }
  }

  async #pass(object: T, log: Log): Promise<ReconcileOutcome | 'failed'> {
    const { finalizer, isPaused, reconcile } = this.#options.reconciler;
    const context = {
      signal: AbortSignal.timeout(this.#options.deadline ?? DEADLINE),
      log,
      now: this.#options.clock(),
    };
    if (object.metadata.deletionTimestamp !== undefined) return this.#runFinalizer(object, context);
    if (isPaused?.(object) === true) return this.#pause(object, context);
    const fault = this.#options.reconciler.cache.faults.findFault(buildObjectKey(object.metadata));
    if (fault !== undefined) return this.#refuse(object, fault, context);
    const isHeld = finalizer !== undefined && finalizer.isNeeded?.(object) !== false;
    const held = !isHeld ? object : await this.#hold(object, finalizer.name, context.signal);
    return this.#report(held, reconcile, context);
  }

  /**
   * Leaves the object as it is, but reports the present generation in its status, so that anyone who waits for it
   * learns why nothing happens.
   */
  async #pause(object: T, context: Context): Promise<ReconcileOutcome> {
    const at = {
      generation: object.metadata.generation ?? 0,
      now: formatKubernetesTime(context.now),
    };
    await this.#store(
      object,
      { ...object.status, conditions: buildPausedConditions(object.status?.conditions ?? [], at) },
      context,
    );
    return { kind: 'settled', reason: 'Suspended', message: '' };
  }

  /** Leaves an object that is out of bounds as it is, and says so. Its author must write another one. */
  async #refuse(object: T, fault: ObjectFault, context: Context): Promise<ReconcileOutcome> {
    const { status, statements } = getFormerReport(object);
    const fields = this.#options.reconciler.faulty?.(object, fault, context.now);
    const outcome = buildStalledOutcome(
      fault.reason,
      `The operator leaves it as it is. ${fault.message}`,
    );
    await this.#write(object, { outcome, status: { ...status, ...fields }, statements }, context);
    return outcome;
  }

  async #runFinalizer(object: T, context: Context): Promise<ReconcileOutcome | 'failed'> {
    const { finalizer } = this.#options.reconciler;
    if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer.name) !== true) {
      return { kind: 'settled', reason: 'Deleted', message: '' };
    }
    const outcome = await this.#report(object, finalizer.finalize, context);
    if (outcome !== 'failed' && outcome.kind === 'settled')
      await this.#removeFinalizer(object, finalizer.name, context.signal);
    return outcome;
  }

  /** Adds the operator's finalizer before anything exists that it would have to undo. */
  async #hold(object: T, finalizer: string, signal: AbortSignal): Promise<T> {
    const { finalizers = [], resourceVersion } = object.metadata;
    if (finalizers.includes(finalizer)) return object;
    const add: JsonPatch =
      finalizers.length === 0
        ? [{ op: 'add', path: '/metadata/finalizers', value: [finalizer] }]
        : [{ op: 'add', path: '/metadata/finalizers/-', value: finalizer }];
    return this.#patch(
      object,
      [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }, ...add],
      signal,
    );
  }

  /** Removes only the operator's finalizer. The patch's test fails if the list has changed since it was read. */
  async #removeFinalizer(object: T, finalizer: string, signal: AbortSignal): Promise<void> {
    const { kube, reconciler } = this.#options;
    const { namespace, name, uid } = object.metadata;
    try {
      const { metadata } = await kube.get(reconciler.kind, { namespace, name }, signal);
      const index = metadata.finalizers?.indexOf(finalizer) ?? -1;
      if (metadata.uid !== uid || index < 0) return;
      const path = `/metadata/finalizers/${index}`;
      const patch: JsonPatch = [
        { op: 'test', path, value: finalizer },
        { op: 'remove', path },
      ];
      await kube.patchJson(reconciler.kind, { namespace, name }, patch, {}, signal);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
  }

  async #report(
    object: T,
    reconcile: Reconcile<T, S>,
    context: Context,
  ): Promise<ReconcileOutcome | 'failed'> {
    let report: Report<S>;
    try {
      report = await reconcile(object, context);
    } catch (error) {
      const refusal = this.#buildRefusalReport(object, error, context.now);
      if (refusal !== undefined) {
        await this.#write(object, refusal, context);
        return refusal.outcome;
      }
      if (context.signal.aborted) this.#options.observer.timedOut();
      if (!this.#isFirstRace(object, error))
        await this.#write(object, buildFailureReport(object, error), context).catch(
          () => undefined,
        );
      throw error;
    }
    await this.#write(object, report, context);
    return report.outcome;
  }

  /** True for the first lost race in a row: the key is tried again at once, and nothing is logged. */
  #isFirstRace({ metadata }: T, error: unknown): boolean {
    const key = `${metadata.namespace}/${metadata.name}`;
    if (!(error instanceof Conflict) || this.#raced.has(key)) return false;
    this.#raced.add(key);
    return true;
  }

  #buildRefusalReport(object: T, error: unknown, now: Date): Report<S> | undefined {
    const isRefusal = error instanceof KubeRefused || error instanceof Denied;
    return isRefusal ? this.#options.reconciler.refused?.(object, error, now) : undefined;
  }

  async #write(object: T, report: Report<S>, context: Context): Promise<void> {
    const at = {
      generation: object.metadata.generation ?? 0,
      now: formatKubernetesTime(context.now),
    };
    const conditions = buildConditions(report, object.status?.conditions ?? [], at);
    const isStored = await this.#store(
      object,
      { ...dropUndefined(report.status), conditions },
      context,
    );
    if (isStored)
      for (const event of buildConditionEvents(object.status, report.statements))
        this.#options.record(object, event);
  }

  /** Writes the status if it differs, and records an event for notable changes. False: nothing was written. */
  async #store(object: T, state: Status, { log }: Context): Promise<boolean> {
    const { kube, reconciler, record } = this.#options;
    const status = { ...state, observedGeneration: object.metadata.generation ?? 0 };
    const patch = buildStatusPatch(object.status, status);
    if (patch === undefined) return false;
    const { namespace, name } = object.metadata;
    // The reconcile's own signal is not used: its findings are reported even if it ran out of time.
    const send = () =>
      kube.patchStatus(reconciler.kind, { namespace, name }, patch, AbortSignal.timeout(10_000));
    const stored = await reconciler.cache
      .write(buildObjectKey(object.metadata), send)
      .catch(skipNotFound);
    if (stored === undefined) return false;
    const event = findTransition(object.status, status);
    if (event === undefined) return true;
    record(object, event);
    log.info({ reason: event.reason, phase: status.phase }, 'state changed');
    return true;
  }

  async #patch(object: T, patch: JsonPatch, signal: AbortSignal): Promise<T> {
    const { kube, reconciler } = this.#options;
    const { namespace, name } = object.metadata;
    return reconciler.cache.write(buildObjectKey(object.metadata), () =>
      kube.patchJson(reconciler.kind, { namespace, name }, patch, {}, signal),
    );
  }
}

const toResult = (outcome: ReconcileOutcome | 'failed'): Result => {
  if (outcome === 'failed') return 'error';
  if (outcome.kind === 'stalled') return 'stalled';
  return outcome.after !== undefined ? 'requeue_after' : 'success';
};
