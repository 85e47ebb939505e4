import type { Cron, CronCall } from '../../../schema/agent/cron.ts';
import { readSealContext } from '../../encryption/codec.ts';
import type { EncryptionContext } from '../../kernel/encryption-context.ts';
import type { Db } from '../base/pool.ts';
import { buildRowsSql } from '../base/plans.ts';
import { openCrons } from './crons.ts';
import type { Json } from '../../../schema/json.ts';

/*
 * A tick is a time at which a cron fires. The process that moves the cron to its next date has the tick, and makes its
 * run in the same transaction.
 */

/** The crons that are looked at: those of these graphs, but for some. `revision`: the one of the process. */
type Looked = { graphs: string[]; except: string[]; revision: string | undefined };

/** True unless the revision was replaced, or is tried out: its runs would be pinned to it. */
const mayFire = (revision: string): string =>
  `not exists (select 1 from gx.rollout p where ${revision}::text = any(p.draining || p.candidate))`;

/**
 * Returns in how many milliseconds the next cron of these graphs is due, by the clock of the database; undefined when
 * none is.
 */
export async function loadNextTickDelay(
  db: Db,
  { graphs, except, revision }: Looked,
): Promise<number | undefined> {
  const [row] = await db.query<{ wait: number }>({
    name: 'cron_next',
    text: `select extract(epoch from c.next_run_date - now())::float8 * 1000 as wait from gx.cron c join gx.assistant a using (assistant_id)
      where c.enabled and c.next_run_date is not null and a.graph_id = any($1) and c.cron_id <> all($2) and ${mayFire('$3')}
      order by c.next_run_date limit 1`,
    values: [graphs, except, revision ?? null],
  });
  return row?.wait;
}

/** A cron that is due. `now` is the database's time, and `context` the one that its call is encrypted under. */
export type DueCron = Omit<Cron, 'payload' | 'next_run_date'> & {
  context: EncryptionContext | undefined;
  payload: CronCall;
  owner: Json | null;
  next_run_date: string;
  now: string;
};

/** Returns crons that are due, those that have waited longest first. It holds none of them. */
export async function loadDueCrons(
  db: Db,
  { graphs, except, revision, limit }: Looked & { limit: number },
): Promise<DueCron[]> {
  const rows = await db.query<DueCron>({
    name: 'cron_due',
    text: `select c.*, now() as now from gx.cron c join gx.assistant a using (assistant_id)
      where c.enabled and c.next_run_date <= now() and a.graph_id = any($1) and c.cron_id <> all($2) and ${mayFire('$4')}
      order by c.next_run_date, c.cron_id limit $3`,
    values: [graphs, except, limit, revision ?? null],
  });
  // Its runs have the same context.
  return openCrons(
    db,
    rows.map((row) => ({ ...row, context: readSealContext(row.payload) })),
  );
}

/** A tick as it was seen, and the date of the next one; null when the cron fires no more. */
export type SeenTick = {
  cron: DueCron;
  next: string | null;
};

const SEEN = {
  cron_id: 'uuid',
  tick: 'timestamptz',
  updated_at: 'timestamptz',
  next: 'timestamptz',
};

/**
 * Takes the ticks that nobody else has, or is about to have, and whose crons have not changed since. Returns the ids of
 * their crons.
 */
export async function takeTicks(tx: Db, ticks: SeenTick[]): Promise<Set<string>> {
  const rows = await tx.query<{ cron_id: string }>({
    name: 'cron_take',
    text: `with held as (
        select c.cron_id, a.next from ${buildRowsSql(SEEN, 'a')} join gx.cron c using (cron_id)
        where c.enabled and c.next_run_date = a.tick and c.updated_at = a.updated_at order by c.cron_id for no key update of c skip locked)
      update gx.cron c set next_run_date = held.next from held where c.cron_id = held.cron_id returning c.cron_id`,
    values: [
      ticks.map(({ cron }) => cron.cron_id),
      ticks.map(({ cron }) => cron.next_run_date),
      ticks.map(({ cron }) => cron.updated_at),
      ticks.map(({ next }) => next),
    ],
  });
  return new Set(rows.map(({ cron_id }) => cron_id));
}

/** Deletes those of the crons whose thread is gone. */
export async function deleteCronsWithoutThread(tx: Db, cronIds: string[]): Promise<void> {
  await tx.query({
    text: `delete from gx.cron c where cron_id = any($1) and thread_id is not null
      and not exists (select 1 from gx.thread t where t.thread_id = c.thread_id)`,
    values: [cronIds],
  });
}
