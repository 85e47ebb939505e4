import { setTimeout as wait } from 'node:timers/promises';
import { Conflict } from '../../../errors.ts';

/** Milliseconds before each further try. The database chose this statement to give way, so the others are soon done. */
const PAUSES = [10, 40, 160, 640];

/**
 * Sends a statement that stands alone, and sends it again when it was undone to break a deadlock. Throws the last
 * failure.
 */
export async function retryDeadlock<T>(statement: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES) {
    try {
      return await statement();
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      await wait(pause);
    }
  }
  return statement();
}
