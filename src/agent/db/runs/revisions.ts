import { PINS } from '../../../schema/platform/pins.ts';
import type { RolloutPlan } from '../../../schema/wire/rollout-plan.ts';
import type { Pinning } from '../../kernel/pinning.ts';
import { pinnedTo } from '../../kernel/pinning.ts';
import type { Db } from '../base/pool.ts';

/* This file knows which revision a run is pinned to, and which process may execute it. */

/** True if the revision is none of those that still execute their work. */
const isGone = (revision: string): string => `exists (select 1 from gx.rollout p where ${revision} <> all(p.living))`;

/**
 * True if a process of the revision `own` may execute the run: it is pinned to none, or to that revision, or to one
 * that is gone while `own` serves. A process that is of no revision executes everything.
 */
export const mayExecute = (run: string, own: string): string => `(${run}.revision is null or ${run}.revision = ${own} or ${own} is null
    or exists (select 1 from gx.rollout p where p.current = ${own} and ${run}.revision <> all(p.living)))`;

/** The revision of a run that a process of `own` takes: one that it inherits becomes its own. */
export const takenRevision = (run: string, own: string): string =>
  `case when ${run}.revision <> ${own} then ${own} else ${run}.revision end`;

/** The condition that a thread is pinned to its revision, as SQL; its index has the same words. */
const isPinned = (thread: string): string => `${thread}.revision is not null and (${thread}.kept or ${thread}.status = 'interrupted')`;

/** The living revision that a thread is pinned to, or null. */
export const pinOfThread = (thread: string): string =>
  `case when ${isPinned(thread)} and not ${isGone(`${thread}.revision`)} then ${thread}.revision end`;

/** A part of the statement that makes runs: its changes to their threads, whose `revision` the runs get. */
export type PinPart = {
  name: string;
  /** The columns of a new thread, and their values. */
  columns: string;
  values: (own: string) => string;
  /** The change of a thread that is there. `t` is its row, and `asked` has the run. */
  change: (own: string) => string;
  /** True if the run may start in this process. */
  startsHere: (own: string) => string;
  /** The values of the parameters that the part uses: none, or the revision. */
  parameters: string[];
};

const UNPINNED: PinPart = {
  name: '',
  columns: '',
  values: () => '',
  change: () => 'revision = null, kept = null',
  startsHere: () => 'true',
  parameters: [],
};

/**
 * A run without new input goes on with the question of its thread, or with the run under way there. So it goes to the
 * revision of that, and any other run to the revision of the process.
 */
const goesOn = (own: string): string => `t.revision is distinct from ${own}
      and (t.status = 'interrupted' or exists (select 1 from gx.run x where x.thread_id = t.thread_id and x.status in ('pending', 'running')))
      and (select a.continues from asked a where a.thread_id = t.thread_id limit 1)`;

const CHANGES = {
  Run: (own: string) => `revision = case when ${goesOn(own)} and not ${isGone('t.revision')} then t.revision else ${own} end, kept = null`,
  Thread: (own: string) =>
    `revision = case when t.revision <> ${own} and not ${isGone('t.revision')} then t.revision else ${own} end, kept = true`,
};

/** Returns the part for processes that pin runs like this one. */
export function pinPart(pinning: Pinning): PinPart {
  const revision = pinnedTo(pinning);
  const { pin } = pinning;
  if (revision === undefined || pin === 'None') return UNPINNED;
  return {
    name: `_${PINS.indexOf(pin)}`,
    columns: ', revision, kept',
    values: (own) => `, ${own}, ${pin === 'Thread' ? 'true' : 'null::boolean'}`,
    change: CHANGES[pin],
    startsHere: (own) => `(t.revision is null or t.revision = ${own})`,
    parameters: [revision],
  };
}

/**
 * Names a newer revision than the one that serves as living. Its processes do so before they make runs, because the
 * plan with it may arrive a little later, and a revision that no plan knows counts as gone.
 */
export async function nameLiving(db: Db, revision: string): Promise<void> {
  await db.query({
    text: `update gx.rollout set living = array_append(living, $1::text)
      where $1::text <> all(living) and (length($1::text), $1::text) > (length(current), current)`,
    values: [revision],
  });
}

/** Keeps a plan, unless a newer one is kept. */
export async function keepRolloutPlan(db: Db, { current, living, draining, made_at }: RolloutPlan): Promise<void> {
  await db.query({
    name: 'rollout_keep',
    text: `insert into gx.rollout as p (current, living, draining, made_at) values ($1, $2, $3, $4)
      on conflict (one) do update set current = excluded.current, living = excluded.living, draining = excluded.draining, made_at = excluded.made_at
      where excluded.made_at > p.made_at`,
    values: [current, living, draining, made_at],
  });
}

/**
 * Returns the revisions that still have a queue, by its name behind a prefix, although the serving one has inherited
 * their work. A queue that was made after the plan is of a revision that the plan does not know yet. The processes of
 * the others have ended, which takes minutes.
 */
export async function goneRevisions(db: Db, { own, prefix }: { own: string; prefix: string }): Promise<string[]> {
  const rows = await db.query<{ revision: string }>({
    name: 'rollout_gone',
    text: `select substr(q.name, length($2) + 1) as revision from pgboss.queue q, gx.rollout p
      where p.current = $1 and p.made_at < now() - interval '10 minutes' and q.created_on < p.made_at
        and starts_with(q.name, $2) and substr(q.name, length($2) + 1) <> all(p.living)`,
    values: [own, prefix],
  });
  return rows.map(({ revision }) => revision);
}

/** Threads and runs of each that are counted at most. */
const MOST = 10_000;

/**
 * The work that is pinned to living revisions besides the one that serves, as JSON; null while no plan is kept. Each
 * number comes from an index, and is counted up to a bound.
 */
export const PINNED_WORK = `(select json_agg(json_build_object('revision', l.revision,
      'due', (select count(distinct r.thread_id) from (select r.thread_id from gx.run r where r.revision = l.revision and r.status = 'pending' and r.due_at <= now()
        and not exists (select 1 from gx.run x where x.thread_id = r.thread_id and x.status = 'running') limit ${MOST}) r),
      'running', (select count(*) from gx.run r where r.revision = l.revision and r.status = 'running'),
      'later', (select count(*) from (select 1 from gx.run r where r.revision = l.revision and r.status = 'pending' and r.due_at > now() limit ${MOST}) r),
      'next_due', (select min(r.due_at) from gx.run r where r.revision = l.revision and r.status = 'pending' and r.due_at > now()),
      'waiting', (select count(*) from (select 1 from gx.thread t where t.revision = l.revision and ${isPinned('t')} limit ${MOST}) t)))
    from (select unnest(p.living) as revision, p.current from gx.rollout p) l where l.revision <> l.current)`;
