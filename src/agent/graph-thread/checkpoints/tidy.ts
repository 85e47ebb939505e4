import { packCheckpoints } from '../../db/checkpoint-packs.ts';
import { rewriteLists } from '../../db/older-lists.ts';
import type { Database } from '../../db/pool.ts';
import type { StepsOfRun } from './steps-of-run.ts';

/**
 * Stores what a thread's older steps left behind in a shorter form. Throws the first failure once all is tried; what
 * failed is done by a later run.
 */
export async function tidy(db: Database, threadId: string, { toPack, toRewrite }: Pick<StepsOfRun, 'toPack' | 'toRewrite'>): Promise<void> {
  const ended = await Promise.allSettled([
    ...[...toPack].map((namespace) => packCheckpoints(db, threadId, namespace)),
    ...[...toRewrite].map((namespace) => rewriteLists(db, threadId, namespace)),
  ]);
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
