import { asError } from '../../errors.ts';
import type { AgentDeps } from './deps.ts';

type IndexDeps = Pick<AgentDeps, 'db' | 'semanticSearch' | 'pump' | 'log'>;

/** Indexes, while the server serves, items that were stored without an index or for vectors of another length. */
export async function indexStore({ db, semanticSearch, pump, log }: IndexDeps, signal: AbortSignal): Promise<void> {
  if (semanticSearch === undefined || db.codec.encrypts) return;
  try {
    const by = await semanticSearch.prepare();
    const items = pump.works ? await semanticSearch.catchUp(signal) : 0;
    log.info({ by, items }, 'store can be searched by meaning');
  } catch (error) {
    log.warn({ err: asError(error) }, 'items of the store could not be indexed; the next start tries again');
  }
}
