import { setTimeout as wait } from 'node:timers/promises';
import { toError, Conflict } from '../errors.ts';
import type { Log } from '../log.ts';
import { kinds } from './kinds.ts';
import type { Kube, LeaseObject } from './kube.ts';

export type LeaseOptions = {
  kube: Kube;
  log: Log;
  namespace: string;
  name: string;
  /** The name of this process, which no other process has. */
  identity: string;
  annotations?: Record<string, string>;
  /**
   * Seconds. Others may take over after `duration` without a renewal; the holder gives up after `renewDeadline`; both
   * try every `retry`.
   */
  seconds?: { duration: number; renewDeadline: number; retry: number };
  /** Called after each renewal, so that writes which wait behind the fence may go on. */
  renewed?: () => void;
};

/** A span of time on the clock, in milliseconds. */
export type TimeSpan = { from: number; to: number };

/** client-go's times: a leader that stops renewing at 10 s is silent before another may start at 15 s. */
const SECONDS = { duration: 15, renewDeadline: 10, retry: 2 };
const JITTER = 1.2;
/** How many absences are remembered. Older ones ended long before anything that is under way. */
const ABSENCES = 100;

/**
 * Elects one leader at a time, by a Lease. Whether another holder is alive is judged by how long this process has seen
 * the record unchanged, never by the other's clock. `holds` is the fence for writes: a process that was stopped and
 * wakes up finds it false before it does anything. A write that is already on its way can't be called back. So every
 * write must also be safe while there are two leaders for a moment.
 */
export class Election {
  readonly #options: LeaseOptions;
  readonly #seconds: Required<LeaseOptions>['seconds'];
  #observed: { record: string; at: number; lease: LeaseObject } | undefined;
  #renewedAt = 0;
  #since = 0n;
  #absences: TimeSpan[] = [];

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#seconds = options.seconds ?? SECONDS;
  }

  /** Milliseconds since the last successful renewal. */
  get renewAge(): number {
    return performance.now() - this.#renewedAt;
  }

  /**
   * Resolves when this process leads, and rejects when the signal is aborted before. It looks twice as often as a
   * holder renews, so a released lease waits 1.2 s at most.
   */
  async acquire(signal: AbortSignal): Promise<void> {
    const pause = (this.#seconds.retry * 1000) / 2;
    while (!(await this.#try(signal)))
      await wait(pause * (1 + Math.random() * (JITTER - 1)), undefined, { signal });
    this.#options.log.info(
      { lease: this.#options.name, identity: this.#options.identity },
      'leading',
    );
  }

  /** The version of the Lease as its last holder left it. The next holder must know the world at least as new. */
  get since(): bigint {
    return this.#since;
  }

  /**
   * Returns the times in which nobody led, as far as this process knows: before it led, and while it could not renew
   * its lease. The last one may still go on.
   */
  get absences(): TimeSpan[] {
    return this.#renewedAt === 0 || !this.#isOverdue()
      ? this.#absences
      : [...this.#absences, this.#buildSpan()];
  }

  /** True while the Lease was renewed within the deadline and nobody else was seen to lead. */
  get holds(): boolean {
    return this.#renewedAt > 0 && !this.#isOverdue() && !this.#isHeldByAnother();
  }

  /**
   * Keeps renewing, and resolves when another process leads or the signal is aborted. While renewals fail for another
   * reason, such as an API server that is away, this process waits behind the fence, because ending would only cost a
   * start.
   */
  async hold(signal: AbortSignal): Promise<'lost' | 'stopped'> {
    while (!signal.aborted) {
      await wait(this.#seconds.retry * 1000, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      await this.#try(signal);
      if (this.#isHeldByAnother()) return 'lost';
    }
    return 'stopped';
  }

  /** Gives the Lease up, so that the next leader starts at once. */
  async release(): Promise<void> {
    const lease = this.#observed?.lease;
    if (lease === undefined || lease.spec.holderIdentity !== this.#options.identity) return;
    const spec: LeaseObject['spec'] = {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: formatMicroTime(),
    };
    await this.#options.kube
      .replace(kinds.lease, { ...lease, spec }, AbortSignal.timeout(3000))
      .catch((error: unknown) => {
        this.#options.log.warn({ err: toError(error) }, 'lease not released');
      });
  }

  #isOverdue(): boolean {
    return this.renewAge >= this.#seconds.renewDeadline * 1000;
  }

  #buildSpan(from = Date.now() - this.renewAge): TimeSpan {
    return { from, to: Date.now() };
  }

  /**
   * Notes an absence by the clock of the former leader, because the times that it is compared with came from that
   * clock.
   */
  #noteAbsence(found: LeaseObject | undefined): void {
    const isFirst = this.#renewedAt === 0;
    if (!isFirst && !this.#isOverdue()) return;
    const span = this.#buildSpan(isFirst ? Date.parse(found?.spec.renewTime ?? '') : undefined);
    if (span.to > span.from) this.#absences = [...this.#absences, span].slice(-ABSENCES);
  }

  #isHeldByAnother(): boolean {
    const holder = this.#observed?.lease.spec.holderIdentity;
    return holder !== undefined && holder !== '' && holder !== this.#options.identity;
  }

  async #try(signal: AbortSignal): Promise<boolean> {
    const limit = AbortSignal.any([
      signal,
      AbortSignal.timeout((this.#seconds.renewDeadline * 1000) / 2),
    ]);
    const startedAt = performance.now();
    try {
      const lease = await this.#readLease(limit);
      if (lease !== undefined && this.#isAlive(lease)) return false;
      this.#observeLease(await this.#write(lease, limit));
      if (this.#renewedAt === 0) this.#since = BigInt(lease?.metadata.resourceVersion ?? 0);
      this.#noteAbsence(lease);
      this.#renewedAt = startedAt;
      this.#options.renewed?.();
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Conflict))
        this.#options.log.warn({ err: toError(error) }, 'lease not renewed');
      return false;
    }
  }

  async #readLease(signal: AbortSignal): Promise<LeaseObject | undefined> {
    const { kube, namespace, name } = this.#options;
    const lease = await kube.find(kinds.lease, { namespace, name }, signal);
    if (lease !== undefined) this.#observeLease(lease);
    return lease;
  }

  #observeLease(lease: LeaseObject): void {
    const record = JSON.stringify(lease.spec);
    if (this.#observed?.record === record) this.#observed.lease = lease;
    else this.#observed = { record, at: performance.now(), lease };
  }

  #isAlive({ spec }: LeaseObject): boolean {
    if (!spec.holderIdentity || spec.holderIdentity === this.#options.identity) return false;
    const age = performance.now() - (this.#observed?.at ?? 0);
    return age < (spec.leaseDurationSeconds ?? this.#seconds.duration) * 1000;
  }

  async #write(lease: LeaseObject | undefined, signal: AbortSignal): Promise<LeaseObject> {
    const { kube, namespace, name, identity, annotations: own } = this.#options;
    const now = formatMicroTime();
    const mine = lease?.spec.holderIdentity === identity;
    const spec: LeaseObject['spec'] = {
      holderIdentity: identity,
      leaseDurationSeconds: this.#seconds.duration,
      acquireTime: mine ? (lease.spec.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (lease?.spec.leaseTransitions ?? 0) + (mine || lease === undefined ? 0 : 1),
    };
    const head = { apiVersion: kinds.lease.apiVersion, kind: kinds.lease.kind };
    const annotations = { ...lease?.metadata.annotations, ...own };
    if (lease !== undefined)
      return kube.replace(
        kinds.lease,
        { ...lease, metadata: { ...lease.metadata, annotations }, spec },
        signal,
      );
    return kube.create(
      kinds.lease,
      { ...head, metadata: { namespace, name, annotations }, spec },
      {},
      signal,
    );
  }
}

/** metav1.MicroTime needs six digits. */
export const formatMicroTime = (now = new Date()): string => now.toISOString().replace('Z', '000Z');
