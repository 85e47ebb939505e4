import { setTimeout as wait } from 'node:timers/promises';
import { Conflict } from '../errors.ts';

/**
 * Losing a race is normal, because the operator's status writes also change the version. Losing ten in a row is not.
 */
const ATTEMPTS = 10;
const LONGEST_PAUSE = 25;

/**
 * Decides and then writes. Starts again whenever another writer came in between. Throws `Conflict` after ten attempts.
 */
export async function retryConflicts<T, D>(
  decide: () => Promise<D>,
  write: (decided: D) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const decided = await decide();
    try {
      return await write(decided);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      if (attempt === ATTEMPTS)
        throw new Conflict('Another caller changed the deployment at the same time; try again.', {
          cause: error,
        });
      await wait(Math.random() * LONGEST_PAUSE * attempt);
    }
  }
}
