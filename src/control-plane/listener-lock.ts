import { randomUUID } from 'node:crypto';
import { Unavailable } from '../errors.ts';
import type { Kube } from '../kube/kube.ts';
import { Election } from '../kube/lease.ts';
import type { Log } from '../log.ts';

const LEASE = 'gx-listeners';
/** A process waits `duration` for a holder that may have died. One that is only slow has given up its write by then. */
const SECONDS = { duration: 15, renewDeadline: 10, retry: 0.05 };
const PATIENCE_MILLISECONDS = 25_000;
const WRITE_MILLISECONDS = 10_000;

/**
 * Lets one change of Listeners run at a time across all replicas. One write cannot both check that a namespace is free
 * and take it.
 */
export class ListenerLock {
  readonly #lease: { kube: Kube; log: Log; namespace: string };
  /** The changes of this process run one after another, so that only one of them contends for the Lease. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(lease: { kube: Kube; log: Log; namespace: string }) {
    this.#lease = lease;
  }

  /** Runs a change when it is its turn. Throws `Unavailable` when the changes before it do not end in time. */
  run<T>(change: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const patience = AbortSignal.timeout(PATIENCE_MILLISECONDS);
    const turn = this.#last.then(() => this.#runUnderLease(change, patience));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #runUnderLease<T>(
    change: (signal: AbortSignal) => Promise<T>,
    patience: AbortSignal,
  ): Promise<T> {
    const lock = new Election({
      ...this.#lease,
      name: LEASE,
      identity: randomUUID(),
      seconds: SECONDS,
    });
    try {
      await lock.acquire(patience);
    } catch (error) {
      if (!patience.aborted) throw error;
      throw new Unavailable('Other changes of listeners are under way; try again.', {
        cause: error,
      });
    }
    try {
      return await change(AbortSignal.timeout(WRITE_MILLISECONDS));
    } finally {
      await lock.release();
    }
  }
}
