import { randomUUID } from 'node:crypto';
import { Unavailable } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';
import { Election } from '../../kube/lease.ts';
import type { Needs } from '../needs.ts';

const LEASE = 'gx-listeners';
/** A process that died while it held the Lease is waited for; one that is only slow has given up its write by then. */
const SECONDS = { duration: 15, renewDeadline: 10, retry: 0.05 };
const PATIENCE_MILLISECONDS = 25_000;
const WRITE_MILLISECONDS = 10_000;

/** The changes of this process go one after the other: only one of them contends for the Lease. */
const turns = new WeakMap<Kube, Promise<unknown>>();

/**
 * Runs a change of Listeners while no other change of Listeners runs in any replica: whether a namespace is free can't be asked and
 * answered in one write. Throws `Unavailable` when others don't come to an end.
 */
export function alone<T>(needs: Needs, change: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const patience = AbortSignal.timeout(PATIENCE_MILLISECONDS);
  const turn = (turns.get(needs.kube) ?? Promise.resolve()).then(() => underLease(needs, change, patience));
  turns.set(
    needs.kube,
    turn.catch(() => undefined),
  );
  return turn;
}

async function underLease<T>({ kube, log, config }: Needs, change: (signal: AbortSignal) => Promise<T>, patience: AbortSignal): Promise<T> {
  const lock = new Election({ kube, log, namespace: config.namespace, name: LEASE, identity: randomUUID(), seconds: SECONDS });
  try {
    await lock.acquire(patience);
  } catch (error) {
    if (!patience.aborted) throw error;
    throw new Unavailable('Other changes of listeners are under way; try again.', { cause: error });
  }
  try {
    return await change(AbortSignal.timeout(WRITE_MILLISECONDS));
  } finally {
    await lock.release();
  }
}
