import type { TestDatabase } from '../kit/postgres.ts';

/* When each checkpoint of a run was stored, and by which attempt, as the database saw it. */

/** A checkpoint of a run. `step` is -1 for its input. `at` is in milliseconds. */
export type StoredStep = {
  run: string;
  attempt: number;
  step: number;
  id: string;
  parent: string | null;
  at: number;
};

const WITNESS = `
  create table step_witness (number bigserial, checkpoint_id text, at timestamptz default clock_timestamp());
  create function step_witness() returns trigger language plpgsql as $$
    begin
      insert into step_witness (checkpoint_id) values (new.checkpoint_id);
      return null;
    end $$;
  create trigger step_witness after insert on gx.checkpoints for each row execute function step_witness();`;

const STEPS = `
  select metadata->>'run_id' as run, (metadata->>'run_attempt')::int as attempt, (metadata->>'step')::int as step,
    checkpoint_id as id, parent_checkpoint_id as parent, extract(epoch from at)::float8 * 1000 as at
  from gx.checkpoints join step_witness using (checkpoint_id) where checkpoint_ns = '' order by number`;

/** Makes the database record from now on when each checkpoint is stored. */
export const callStepWitness = async (database: TestDatabase): Promise<void> =>
  void (await database.sql(WITNESS));

/** Returns the checkpoints of each run, in the order in which they were stored. */
export async function storedSteps(database: TestDatabase): Promise<Map<string, StoredStep[]>> {
  return Map.groupBy(await database.sql<StoredStep>(STEPS), ({ run }) => run);
}
