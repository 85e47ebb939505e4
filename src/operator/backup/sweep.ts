import { setTimeout as wait } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { isOfLiving } from './open.ts';

/**
 * Removes Backup objects whose deployment is not there, until the signal is aborted. Those of the operator go with
 * their deployment, so that these are written by others. Their data at the target stays.
 */
export async function sweepBackups(
  {
    caches,
    writer,
    log,
    every,
  }: OperatorDeps & {
    log: Log;
    /** Milliseconds between two sweeps. A backup without its deployment in both is removed. */
    every: number;
  },
  signal: AbortSignal,
): Promise<void> {
  let suspects = new Set<string>();
  while (!signal.aborted) {
    await wait(every, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const lost = caches.backups.list().filter((one) => !isOfLiving(one, caches));
      for (const backup of lost.filter(({ metadata }) => suspects.has(metadata.uid ?? ''))) {
        await writer.remove(backup, signal);
        log.info(
          { namespace: backup.metadata.namespace, backup: backup.metadata.name },
          'backup without a deployment removed',
        );
      }
      suspects = new Set(lost.map(({ metadata }) => metadata.uid ?? ''));
    } catch (error) {
      log.warn({ err: toError(error) }, 'backups not swept');
    }
  }
}
