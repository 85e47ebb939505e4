import type { RunKwargs } from '../../../schema/agent/run.ts';
import { isSealed, SEALED } from '../../encryption/codec.ts';
import type { TracedCall } from '../../kernel/run-fields.ts';
import { wrapParameter } from '../base/plans.ts';
import type { Db } from '../base/pool.ts';
import { LAST_SEQ_FOR_RUN } from '../events/last-seq.ts';
import { openRuns, runErrorPlace } from '../fields/run-fields.ts';
import { sealField } from '../fields/sealed-fields.ts';
import { mayExecute, buildTakenRevisionSql } from './revisions.ts';
import { isHeld } from './thread-holds.ts';
import { SUMS_OF_RUN } from '../usage/model-calls.ts';
import { buildEndMessagesSql } from '../webhooks/webhooks.ts';
import type { WorkerLock } from '../base/worker-locks.ts';

/* This file knows which worker runs which run: claims, heartbeats, and the recovery of a run whose worker is gone. */

export type Claimed = {
  run_id: string;
  thread_id: string;
  graph_id: string;
  attempt: number;
  kwargs: RunKwargs;
  temporary: boolean;
  resumable: boolean;
  alone: boolean;
  /** The cancel that was asked for in the run's former life, whose worker handed it back before it heard. */
  cancel: 'interrupt' | 'rollback' | null;
  revision: string | null;
  /** Seconds from the time that it was due. Null: it had begun before. */
  waited: number | null;
  readers: string[];
  /** True when the thread has no checkpoint. */
  empty: boolean;
  /** The number of the thread's last protocol event, when the run publishes such events. */
  thread_seq: number;
};

/** `revision`: the one that the worker is of. */
type Claim = {
  worker: string;
  leaseSeconds: number;
  graphs: string[];
  revision: string | undefined;
};

const OWN = wrapParameter('$4::text');

/**
 * Selects the earliest due run of each of the threads `d` that has none running and is not held. Each thread is looked
 * up by its index, also by a plan that was made while the tables were small. `is true` keeps such a plan from the index
 * of all waiting runs, here and below.
 */
const HEADS = `select h.run_id, h.graph_id, h.revision from d,
    lateral (select r.run_id, r.graph_id, r.thread_id, r.revision from gx.run r where r.thread_id = d.thread_id and r.status in ('pending', 'running') and (r.status = 'pending') is true and r.due_at <= now()
      order by r.due_at, r.run_id limit 1) h
  where (select 1 from gx.run x where x.thread_id = h.thread_id and x.status = 'running' limit 1) is null
    and (select 1 from gx.thread b where b.thread_id = h.thread_id and ${isHeld('b')} limit 1) is null`;

/**
 * Rows of several runs are locked in the order of their ids, here and everywhere else, so that two statements that want
 * the same rows never wait for each other.
 */
const LOCKED = `head as materialized (
    select r.run_id from (select run_id from heads where graph_id = any(${wrapParameter('$3::text[]')}::text[]) and ${mayExecute('heads', OWN)} order by run_id) h,
      lateral (select run_id from gx.run r where r.run_id = h.run_id and (r.status = 'pending') is true for no key update) r)`;

const TAKE = `taken as (
    update gx.run r set status = 'running', attempt = r.attempt + 1, worker = $1,
      lease_until = now() + $2 * interval '1 second', begun = false, started_at = now(), updated_at = now(),
      revision = ${buildTakenRevisionSql('r', OWN)}
    from head where r.run_id = head.run_id
    returning r.run_id, r.thread_id, r.graph_id, r.attempt, r.kwargs, r.temporary, r.resumable, r.alone, r.cancel, r.revision, r.readers,
      case when r.attempt = 1 then extract(epoch from now() - r.due_at)::float8 end as waited),
  claimed as (
    select r.run_id, r.thread_id, graph_id, attempt, kwargs, temporary, resumable, alone, cancel, r.revision, r.waited, r.readers || t.readers as readers,
      (select 1 from gx.checkpoints c where c.thread_id = r.thread_id::text limit 1) is null as empty,
      ${LAST_SEQ_FOR_RUN} as thread_seq
    from taken r, lateral (select t.thread_id, t.readers, t.event_seq from gx.thread t where t.thread_id = r.thread_id limit 1) t)`;

/**
 * Takes the head run of each thread. When two workers take from one thread, they meet at the unique index, and the
 * later one gets a `Conflict`.
 */
export async function claimThreads(
  db: Db,
  threadIds: string[],
  { worker, leaseSeconds, graphs, revision }: Claim,
): Promise<Claimed[]> {
  const rows = await db.query<Claimed>({
    name: 'run_claim',
    text: `with d as (select distinct unnest(${wrapParameter('$5::uuid[]')}) as thread_id), heads as (${HEADS}), ${LOCKED}, ${TAKE} select * from claimed`,
    values: [worker, leaseSeconds, graphs, revision ?? null, threadIds],
  });
  return openRuns(db, rows);
}

/**
 * Takes the head runs of the threads that the next tickets point at, and returns the ids of the tickets. A `Conflict`
 * leaves the tickets where they were. `take` is the queue's statement.
 */
export async function claimByTickets(
  db: Db,
  take: { name: string; sql: (parameter: number) => string; values: unknown[] },
  { worker, leaseSeconds, graphs, revision }: Claim,
): Promise<{ tickets: string[]; runs: Claimed[] }> {
  const rows = await db.query<Claimed & { tickets: string | null }>({
    name: `run_claim_${take.name}`,
    text: `with tickets as (${take.sql(5)}), d as (select distinct (data->>'thread_id')::uuid as thread_id from tickets),
      heads as (${HEADS}), ${LOCKED}, ${TAKE}
      select n.tickets, claimed.* from (select string_agg(id::text, ' ') as tickets from tickets) n left join claimed on true`,
    values: [worker, leaseSeconds, graphs, revision ?? null, ...take.values],
  });
  const runs = await openRuns(
    db,
    rows.filter(({ run_id }) => run_id !== null),
  );
  return { tickets: rows[0]?.tickets?.split(' ') ?? [], runs };
}

/** `patience`: seconds for which a run may still be brought by its ticket. */
type Search = { limit: number; patience: number; graphs: string[]; revision: string | undefined };

/**
 * Returns threads whose turn has come but that no ticket has brought here. This is the safety net under the queue. A
 * thread whose first run is another revision's is that revision's affair.
 */
export async function loadStragglers(
  db: Db,
  { graphs, revision, limit, patience }: Search,
): Promise<string[]> {
  const rows = await db.query<{ thread_id: string }>({
    name: 'run_stragglers',
    text: `select distinct thread_id from (
        select r.thread_id from gx.run r
        where r.status = 'pending' and r.due_at <= now() - $3 * interval '1 second' and r.graph_id = any($1) and ${mayExecute('r', OWN)}
          and not exists (select 1 from gx.run x where x.thread_id = r.thread_id and x.status = 'running')
          and not exists (select 1 from gx.thread b where b.thread_id = r.thread_id and ${isHeld('b')})
          and not exists (select 1 from gx.run e where e.thread_id = r.thread_id and e.status = 'pending'
            and (e.due_at, e.run_id) < (r.due_at, r.run_id) and not ${mayExecute('e', OWN)})
        order by r.due_at limit $2) late`,
    values: [graphs, limit, patience, revision ?? null],
  });
  return rows.map((row) => row.thread_id);
}

export type Renewed = { run_id: string; cancel: 'interrupt' | 'rollback' | null };

/** Renews the leases of these runs. Runs that are missing from the answer are no longer this worker's. */
export function renewLeases(
  db: Db,
  runIds: string[],
  { worker, leaseSeconds }: { worker: string; leaseSeconds: number },
): Promise<Renewed[]> {
  return db.query<Renewed>({
    name: 'run_renew',
    text: `with ours as materialized (
        select run_id from gx.run where run_id = any($1) and worker = $2 and status = 'running' order by run_id for no key update)
      update gx.run r set lease_until = now() + $3 * interval '1 second' from ours where r.run_id = ours.run_id returning r.run_id, r.cancel`,
    values: [runIds, worker, leaseSeconds],
  });
}

/**
 * Says that a run which was claimed before begins now. Returns false when this attempt is over and another worker has
 * the run. A first attempt says nothing, which saves each run a write: the rows that the run stored show that it began.
 */
export async function markBegun(
  db: Db,
  { run_id, attempt }: { run_id: string; attempt: number },
): Promise<boolean> {
  const rows = await db.query({
    name: 'run_begun',
    text: `update gx.run set begun = true where run_id = $1 and attempt = $2 and status = 'running' returning run_id`,
    values: [run_id, attempt],
  });
  return rows.length > 0;
}

/**
 * Gives a run back: it goes on from its last checkpoint elsewhere, in a thread of its own (`alone`) when it must not
 * share one.
 */
export async function giveBack(
  db: Db,
  runId: string,
  { worker, alone }: { worker: string; alone: boolean },
): Promise<void> {
  await db.query({
    text: `update gx.run set status = 'pending', worker = null, lease_until = null, begun = null, alone = alone or $3, updated_at = now()
      where run_id = $1 and worker = $2 and status = 'running'`,
    values: [runId, worker, alone],
  });
}

export type Lost = {
  run_id: string;
  thread_id: string;
  graph_id: string;
  revision: string | null;
  temporary: boolean;
  cancel: 'interrupt' | 'rollback' | null;
  /** Who had the run. It may live, and not know that it has lost it. */
  worker: string;
  /** Lives that the run has lost so far. */
  lost: number;
  /** False when its worker had only claimed it. */
  begun: boolean;
  protocol: boolean;
  /** True when a webhook is to hear of its end. */
  told: boolean;
  /** Processes that read the run, or its whole thread. */
  readers: string[];
  thread_readers: string[];
  /** Its call as it is stored where that is encrypted, else the parts of it that lines of the log need. */
  kwargs: unknown;
};

/** True when the run has stored something: a checkpoint, or a write of a task or a command. */
const STORED = `(exists (select 1 from gx.checkpoints c where c.thread_id = r.thread_id::text and c.metadata->>'run_id' = r.run_id::text)
    or exists (select 1 from gx.checkpoint_writes w where w.thread_id = r.thread_id::text and w.run_id = r.run_id::text))`;

/** The parts of a call that lines of the log need: a call may be megabytes long. */
const IN_LOG = `jsonb_build_object('config', jsonb_build_object('configurable',
    jsonb_build_object('langgraph_request_id', r.kwargs#>'{config,configurable,langgraph_request_id}')), 'trace', r.kwargs->'trace')`;

const LOST = `r.run_id, r.thread_id, r.graph_id, r.revision, r.worker, r.temporary, r.cancel, r.lost, r.readers,
  r.begun or (r.attempt = 1 and ${STORED}) as begun,
  case when r.kwargs->'${SEALED}' is null then ${IN_LOG} else r.kwargs end as kwargs,
  r.kwargs->'protocol' is not null as protocol, r.webhook is not null as told, (select t.readers from gx.thread t where t.thread_id = r.thread_id) as thread_readers`;

/** The most lost runs that one transaction settles. */
const SOME = 100;

/**
 * Returns running runs whose worker has been silent for longer than its lease, locked for the next statements. A
 * database that was down, or took no writes, could not hear anybody. So after its start, or the change of its settings
 * that opens it again, every worker has the time of a lease to say that it lives.
 */
export function lockExpiredRuns(
  tx: Db,
  { leaseSeconds }: { leaseSeconds: number },
): Promise<Lost[]> {
  return tx.query<Lost>({
    text: `select ${LOST} from gx.run r
      where status = 'running' and lease_until < now() and pg_conf_load_time() < now() - $1 * interval '1 second'
      order by run_id limit ${SOME} for update of r skip locked`,
    values: [leaseSeconds],
  });
}

/** Returns running runs of workers whose lock is free, locked for the next statements. */
export function lockAbandonedRuns(tx: Db, locks: WorkerLock[]): Promise<Lost[]> {
  return tx.query<Lost>({
    text: `with dead as materialized (
        select w.worker from gx.worker w join unnest($1::uuid[], $2::bigint[]) d (worker, lock) using (worker, lock)
        where pg_try_advisory_xact_lock_shared(w.lock))
      select ${LOST} from gx.run r where status = 'running' and worker in (select worker from dead)
      order by run_id limit ${SOME} for update of r skip locked`,
    values: [locks.map(({ worker }) => worker), locks.map(({ lock }) => lock)],
  });
}

/** Returns one run whose attempt here is over, locked for the next statements. */
export function lockCrashedRun(tx: Db, runId: string, worker: string): Promise<Lost[]> {
  return tx.query<Lost>({
    text: `select ${LOST} from gx.run r where run_id = $1 and worker = $2 and status = 'running' for update of r`,
    values: [runId, worker],
  });
}

/** Returns the call of a lost run; undefined where it can't be decrypted, which must not keep the run from going on. */
export async function loadLostCall(
  db: Db,
  { run_id, kwargs }: Lost,
): Promise<TracedCall | undefined> {
  const [opened] = await openRuns(db, [{ run_id, kwargs }]).catch(() => []);
  return isSealed(opened?.kwargs) ? undefined : (opened?.kwargs as TracedCall | undefined);
}

/** Puts the run back into the queue, with this many lives lost. */
export async function enqueueLostRun(tx: Db, runId: string, lost: number): Promise<void> {
  await tx.query({
    text: `update gx.run set status = 'pending', worker = null, lease_until = null, begun = null, lost = $2, updated_at = now() where run_id = $1`,
    values: [runId, lost],
  });
}

/** Ends a lost run for good. Its thread rests in error, or idle when somebody had asked the run to stop. */
export async function endLost(
  tx: Db,
  { run_id, thread_id }: { run_id: string; thread_id: string },
  end: { status: 'error' | 'interrupted'; error: object | null },
): Promise<void> {
  await tx.query({
    text: `with r as (
        update gx.run r set status = $2, error = $3, worker = null, lease_until = null, updated_at = now(), ended_at = now(),
          usage = ${SUMS_OF_RUN}
        where run_id = $1 returning *),
      told as (${buildEndMessagesSql({ from: 'r', status: 'r.status' })})
      update gx.thread t set status = case when $2 = 'error' then 'error' else 'idle' end, error = $3, updated_at = now()
      from r where t.thread_id = r.thread_id`,
    values: [run_id, end.status, await sealField(tx, runErrorPlace(thread_id), end.error)],
  });
}
