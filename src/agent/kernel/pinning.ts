import type { Pin } from '../../schema/platform/rollout/pins.ts';

/** The revision that this process is of, if it is of any, and how runs keep to theirs. */
export type Pinning = { revision: string | undefined; pin: Pin };

/**
 * Returns true if a run on a thread that is pinned to `thread` is executed by another revision than this process'.
 * `isContinued`: it brings no new input.
 */
export function isPinnedElsewhere(
  pinning: Pinning,
  { thread, isContinued }: { thread: string | null; isContinued: boolean },
): boolean {
  const own = getPinnedRevision(pinning);
  return (
    own !== undefined &&
    thread !== null &&
    thread !== own &&
    (isContinued || pinning.pin === 'Thread')
  );
}

/** Returns the revision that new runs are pinned to here; undefined where they are pinned to none. */
export const getPinnedRevision = ({ revision, pin }: Pinning): string | undefined =>
  pin === 'None' ? undefined : revision;
