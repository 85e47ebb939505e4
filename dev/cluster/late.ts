import { TimedOut } from '../errors.ts';
import { waitUntil } from '../wait.ts';
import type { ClusterOptions } from './provider.ts';

/** Seconds. A node with much to do answers late, and one that is made again loses everything on it. */
const LATE = 60;

/** Returns whether a cluster that exists is healthy, or becomes healthy within a minute. */
export async function isHealthyInTime(
  { name, report }: ClusterOptions,
  isHealthy: () => Promise<boolean>,
): Promise<boolean> {
  if (await isHealthy()) return true;
  report(
    `cluster ${name} exists and does not answer; waiting up to ${LATE} s before it is made again`,
  );
  return waitUntil({ what: `cluster ${name}`, seconds: LATE, every: 250 }, isHealthy).catch(
    (error: unknown) => {
      if (error instanceof TimedOut) return false;
      throw error;
    },
  );
}
