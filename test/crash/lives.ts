import type { TestDatabase } from '../kit/postgres.ts';

/*
 * How often each run was held, by whom, and how that ended, as the database saw it. The server does not know of this
 * witness.
 */

/**
 * One worker's hold of a run, which is the run's attempt of that number. `ended` is undefined while it lasts. Times are
 * in milliseconds.
 */
export type Life = {
  run: string;
  worker: string;
  attempt: number;
  began: number;
  ended: number | undefined;
  how: 'finished' | 'handed back' | 'lost' | undefined;
};

const WITNESS = `
  create table witness (number bigserial, run_id uuid, status text, worker uuid, attempt int, lost int, given_up boolean, at timestamptz default clock_timestamp());
  create function witness() returns trigger language plpgsql as $$
    begin
      if tg_op = 'UPDATE' and (old.status, old.worker) is not distinct from (new.status, new.worker) then return null; end if;
      insert into witness (run_id, status, worker, attempt, lost, given_up)
        values (new.run_id, new.status, new.worker, new.attempt, new.lost, coalesce(new.error->>'error' = 'WorkerLost', false));
      return null;
    end $$;
  create trigger witness after insert or update on gx.run for each row execute function witness();`;

type Change = {
  run_id: string;
  status: string;
  worker: string;
  attempt: number;
  lost: number;
  given_up: boolean;
  at: number;
};

/** Makes the database record every change of hands from now on. */
export const callWitness = async (database: TestDatabase): Promise<void> =>
  void (await database.sql(WITNESS));

/** Returns all lives of each run, in their order. */
export async function livesOf(database: TestDatabase): Promise<Map<string, Life[]>> {
  const changes = await database.sql<Change>(
    'select run_id, status, worker, attempt, lost, given_up, extract(epoch from at)::float8 * 1000 as at from witness order by number',
  );
  const runs = Map.groupBy(changes, ({ run_id }) => run_id);
  return new Map([...runs].map(([run, own]) => [run, livesIn(own)]));
}

function livesIn(changes: Change[]): Life[] {
  return changes.flatMap((change, at): Life[] => {
    if (change.status !== 'running') return [];
    const end = changes[at + 1];
    const how = end && howEnded(change, end);
    return [
      {
        run: change.run_id,
        worker: change.worker,
        attempt: change.attempt,
        began: change.at,
        ended: end?.at,
        how,
      },
    ];
  });
}

function howEnded(before: Change, end: Change): Life['how'] {
  if (end.given_up || end.lost > before.lost) return 'lost';
  return end.status === 'pending' ? 'handed back' : 'finished';
}
