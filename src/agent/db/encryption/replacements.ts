import type { Db } from '../base/pool.ts';
import { LEASE_SECONDS, type Pass } from './rewrite.ts';

/*
 * The pass that stores the replacements of values that decrypt handlers have read. Any server asks for it, and
 * one that executes runs takes it. It has a row beside those of passes for keys.
 */

const ROW = 'replacements';

/** Seconds between two passes. A module may ask for another value each time that it reads one. */
const REST = 600;
/** Seconds until a pass that had to leave something is repeated. */
const NEXT = 60;

/** Asks for a pass. One that is asked for, or under way, is the same. */
export async function askForReplacements(db: Db): Promise<void> {
  await db.query({
    text: `insert into gx.reencryption as p (key_id, older) values ($1, '{asked}')
      on conflict (key_id) do update set older = '{asked}', place = 0, after = '(0,0)', found = 0 where p.older = '{}'`,
    values: [ROW],
  });
}

/** Takes the pass, or goes on with it. Returns undefined where nobody asks, another server has it, or it rests. */
export async function takeReplacements(db: Db, worker: string): Promise<Pass | undefined> {
  const [pass] = await db.query<Pass>({
    text: `update gx.reencryption set worker = $2, lease_until = now() + $3 * interval '1 second'
      where key_id = $1 and older = '{asked}' and (lease_until < now() or worker = $2) and not_before <= now()
      returning key_id, place, after, found, rewritten`,
    values: [ROW, worker, LEASE_SECONDS],
  });
  return pass;
}

/** Ends the pass. One that `left` rows whose threads were busy is asked for again. */
export async function endReplacements(db: Db, worker: string, left: boolean): Promise<void> {
  await db.query({
    text: `update gx.reencryption set older = $3, place = 0, after = '(0,0)', found = 0, lease_until = now(),
      not_before = now() + $4 * interval '1 second' where key_id = $1 and worker = $2`,
    values: [ROW, worker, left ? ['asked'] : [], left ? NEXT : REST],
  });
}
