import { PINS } from '../../../schema/platform/rollout/pins.ts';
import type { RolloutPlan } from '../../../schema/wire/rollout-plan.ts';
import type { Pinning } from '../../kernel/pinning.ts';
import { getPinnedRevision } from '../../kernel/pinning.ts';
import type { Db } from '../base/pool.ts';

/* This file knows which revision a run is pinned to, and which process may execute it. */

/** True if the revision is none of those that still execute their work. */
const isGone = (revision: string): string =>
  `exists (select 1 from gx.rollout p where ${revision} <> all(p.living))`;

/**
 * True if a process of the revision `own` may execute the run: it is pinned to none, or to that revision, or to one
 * that is gone while `own` serves. A process that is of no revision executes everything.
 */
export const mayExecute = (
  run: string,
  own: string,
): string => `(${run}.revision is null or ${run}.revision = ${own} or ${own} is null
    or exists (select 1 from gx.rollout p where p.current = ${own} and ${run}.revision <> all(p.living)))`;

/** The revision of a run that a process of `own` takes: one that it inherits becomes its own. */
export const buildTakenRevisionSql = (run: string, own: string): string =>
  `case when ${run}.revision <> ${own} then ${own} else ${run}.revision end`;

/** The condition that a thread is pinned to its revision, as SQL; its index has the same words. */
const isPinned = (thread: string): string =>
  `${thread}.revision is not null and (${thread}.kept or ${thread}.status = 'interrupted')`;

/** The living revision that a thread is pinned to, or null. */
export const buildThreadPinSql = (thread: string): string =>
  `case when ${isPinned(thread)} and not ${isGone(`${thread}.revision`)} then ${thread}.revision end`;

/** A part of the statement that makes runs: its changes to their threads, whose `revision` the runs get. */
export type PinPart = {
  name: string;
  /** The columns of a new thread, and their values. `ready` has the run. */
  columns: string;
  values: (own: string) => string;
  /** The change of a thread that is there. `t` is its row, and `asked` has the run. */
  change: (own: string) => string;
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
const buildContinuesSql = (own: string): string => `t.revision is distinct from ${own}
      and (t.status = 'interrupted' or exists (select 1 from gx.run x where x.thread_id = t.thread_id and x.status in ('pending', 'running')))
      and (select a.continues from asked a where a.thread_id = t.thread_id limit 1)`;

/**
 * The hash that decides whether a thread is within a share, from 0 to 2^32 - 1. The candidate is part of it, so that
 * the same users are not always the first.
 */
const HASH = `('x' || substr(md5(p.candidate || '/' || case p.share_by when 'assistant' then ready.assistant_id::text
      when 'user' then coalesce(ready.asker, ready.thread_id::text) else ready.thread_id::text end), 1, 8))::bit(32)::bigint`;

/** True if the candidate has the graph of a run, or none of its pods has started yet. */
const hasGraph = (graph: string): string =>
  `not exists (select 1 from gx.revision v where v.name = p.candidate and ${graph} <> all(v.graphs))`;

/**
 * The revision of a new thread: the one that its request names, else the candidate for its share, else that of the
 * process. Processes of the one that serves alone share, so that a caller of the candidate itself gets the candidate.
 */
const buildNewThreadRevisionSql = (
  own: string,
): string => `coalesce(ready.wanted, (select p.candidate from gx.rollout p
      where p.current = ${own} and p.candidate is not null and ${HASH} < p.share / 100.0::float8 * 4294967296
        and ${hasGraph('ready.graph_id')}), ${own})`;

/**
 * The revision of a run with new input on a thread that is there. One that had no run yet is as good as new. One on
 * which the candidate has begun stays with it while there is a candidate, and no other moves to it.
 */
const buildNewInputRevisionSql = (
  own: string,
): string => `case when t.runs = 0 then excluded.revision else coalesce(
      (select a.wanted from asked a where a.thread_id = t.thread_id limit 1),
      (select p.candidate from gx.rollout p where p.current = ${own} and p.candidate = t.revision
        and ${hasGraph('(select a.graph_id from asked a where a.thread_id = t.thread_id limit 1)')}), ${own}) end`;

const CHANGES = {
  Run: (own: string) =>
    `revision = case when ${buildContinuesSql(own)} and not ${isGone('t.revision')} then t.revision else ${buildNewInputRevisionSql(own)} end, kept = null`,
  Thread: (own: string) =>
    `revision = case when t.revision <> ${own} and not ${isGone('t.revision')} then t.revision else ${buildNewInputRevisionSql(own)} end, kept = true`,
};

/** Returns the part for processes that pin runs like this one. */
export function buildPinPart(pinning: Pinning): PinPart {
  const revision = getPinnedRevision(pinning);
  const { pin } = pinning;
  if (revision === undefined || pin === 'None') return UNPINNED;
  return {
    name: `_${PINS.indexOf(pin)}`,
    columns: ', revision, kept',
    values: (own) =>
      `, ${buildNewThreadRevisionSql(own)}, ${pin === 'Thread' ? 'true' : 'null::boolean'}`,
    change: CHANGES[pin],
    startsHere: (own) => `(t.revision is null or t.revision = ${own})`,
    parameters: [revision],
  };
}

/** Keeps the graphs of a revision, and forgets those of revisions that execute nothing any more. */
export async function keepGraphs(db: Db, revision: string, graphs: string[]): Promise<void> {
  await db.query({
    text: `with gone as (delete from gx.revision v using gx.rollout p
        where v.name <> $1 and v.name <> all(p.living) and (length(v.name), v.name) < (length(p.current), p.current))
      insert into gx.revision (name, graphs) values ($1, $2) on conflict (name) do update set graphs = excluded.graphs`,
    values: [revision, graphs],
  });
}

/**
 * Names a newer revision than the one that serves as living. Its processes do so before they make runs, because the
 * plan with it may arrive a little later, and a revision that no plan knows counts as gone.
 */
export async function addLivingRevision(db: Db, revision: string): Promise<void> {
  await db.query({
    text: `update gx.rollout set living = array_append(living, $1::text)
      where $1::text <> all(living) and (length($1::text), $1::text) > (length(current), current)`,
    values: [revision],
  });
}

/** Threads whose first runs wait at a revision that was given up, which has begun nothing on them. */
const UNBEGUN = `select r.thread_id from gx.run r, kept k where r.status = 'pending' and r.revision = any(k.aborted)
      and not exists (select 1 from gx.run x where x.thread_id = r.thread_id and x.revision = r.revision and x.attempt > 0)`;

/**
 * Keeps a plan, unless a newer one is kept. Threads on which a revision that was given up has begun nothing go to the
 * one that serves, with their runs. Returns whether it is kept now and was not before.
 */
export async function keepRolloutPlan(db: Db, plan: RolloutPlan): Promise<boolean> {
  const { current, living, draining, made_at: at, candidate, aborted = [] } = plan;
  const kept = await db.query({
    name: 'rollout_keep',
    text: `with kept as (
        insert into gx.rollout as p (current, living, draining, made_at, candidate, share, share_by, aborted)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (one) do update set current = excluded.current, living = excluded.living, draining = excluded.draining,
          made_at = excluded.made_at, candidate = excluded.candidate, share = excluded.share, share_by = excluded.share_by, aborted = excluded.aborted
        where excluded.made_at > p.made_at returning p.current, p.aborted),
      t as (
        update gx.thread t set revision = k.current from kept k
        where t.revision = any(k.aborted) and t.thread_id in (${UNBEGUN}) returning t.thread_id),
      r as (
        update gx.run r set revision = k.current from kept k
        where r.status = 'pending' and r.revision = any(k.aborted) and r.thread_id in (select thread_id from t))
      select 1 from kept`,
    values: [
      current,
      living,
      draining,
      at,
      candidate?.revision ?? null,
      candidate?.share ?? 0,
      candidate?.by ?? 'thread',
      aborted,
    ],
  });
  return kept.length > 0;
}

/**
 * Returns the revision of this name, to which a request may send its runs: the one that serves, or the candidate.
 * Undefined: it is neither. A process without a plan knows its own revision alone. `graphs`: null before one of its
 * pods has started.
 */
export async function loadOfferedRevision(
  db: Db,
  { name, own }: { name: string; own: string | undefined },
): Promise<{ name: string; graphs: string[] | null } | undefined> {
  const [found] = await db.query<{ offered: boolean; graphs: string[] | null }>({
    name: 'rollout_offers',
    text: `select exists (select 1 from gx.rollout p where $1 in (p.current, p.candidate)) as offered,
      (select v.graphs from gx.revision v where v.name = $1) as graphs`,
    values: [name],
  });
  return name === own || found?.offered === true
    ? { name, graphs: found?.graphs ?? null }
    : undefined;
}

/**
 * Returns the revisions that still have a queue, by its name behind a prefix, although the serving one has inherited
 * their work. A queue that was made after the plan is of a revision that the plan does not know yet. The processes of
 * the others have ended, which takes minutes.
 */
export async function loadGoneRevisions(
  db: Db,
  { own, prefix }: { own: string; prefix: string },
): Promise<string[]> {
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
