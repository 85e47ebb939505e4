import { runUnderContext } from '../../kernel/encryption-context.ts';
import type { Pinning } from '../../kernel/pinning.ts';
import type { Run } from '../../../schema/agent/run.ts';
import { Batcher } from '../base/batcher.ts';
import { buildKeyInsertSql } from '../base/idempotency-keys.ts';
import { toField } from '../base/json-field.ts';
import { runKwargsPlace, buildKwargsColumn } from '../fields/run-fields.ts';
import { sealNamedField } from '../fields/sealed-fields.ts';
import { encodePatterns, buildPermitSql } from '../base/permits.ts';
import { buildRowsSql } from '../base/plans.ts';
import type { Db } from '../base/pool.ts';
import { LAST_SEQ } from '../events/last-seq.ts';
import { NEVER_SENT, NOT_SENT, type NewRun } from './runs.ts';
import { buildPinPart, type PinPart } from './revisions.ts';
import { isHeld } from './thread-holds.ts';
import { sealWebhookField } from '../webhooks/push-configs.ts';

/* This file stores new runs. Requests that come while one statement is under way share the next one. */

/** The queue's insert, which joins our statement: its SQL, with its parameters from a given one on, and its values. */
type TicketInsert = { name: string; sql: (parameter: number) => string; values: unknown[] };

/** A worker that has a free slot for the run that is being made. */
export type Starter = { worker: string; leaseSeconds: number };

/**
 * `thread_readers` are processes that follow the whole thread. `empty`: the thread has no checkpoint. `thread_seq` is
 * the number of its last protocol event, when the run publishes such events. `revision`: the one that the run is pinned
 * to.
 */
export type Inserted = {
  run: Run;
  thread_readers: string[];
  empty: boolean;
  thread_seq: number;
  revision: string | null;
};

/** The rows that are stored beside the runs: tickets for those that wait, or the worker that has them at once. */
type TicketOrStarter = { ticket: TicketInsert } | { starter: Starter };

/**
 * `rich`: threads show the last run that was made on them, whether or not it has begun. `keyed`: the runs of requests
 * that are carried out once.
 */
type Variant = { guarded: boolean; rich: boolean; keyed: boolean; pin: PinPart };
type Where = { db: Db; rich: boolean; pin: PinPart };
type InsertedRow = Run & Omit<Inserted, 'run'>;

/** Seconds after a temporary thread's due time at which others remove it, because its worker died before it did so. */
const FORGOTTEN = 300;

const GIVEN = {
  run_id: 'uuid',
  thread_id: 'uuid',
  assistant_id: 'uuid',
  graph_id: 'text',
  metadata: 'text',
  kwargs: 'text',
  strategy: 'text',
  temporary: 'boolean',
  resumable: 'boolean',
  readers: 'text',
  after: 'float8',
  make: 'boolean',
  thread_metadata: 'text',
  runs: 'bigint',
  protocol: 'boolean',
  changeable: 'text',
  webhook: 'text',
  continues: 'boolean',
  wanted: 'text',
  asker: 'text',
};
const WITH_KEYS = { ...GIVEN, key: 'bytea', request: 'bytea', made: 'text' };
/** Rows from the first parameters, and the number of the next one. */
const buildInputRows = (columns: Record<string, string>): { asked: string; next: number } => ({
  asked: `asked as materialized (select * from ${buildRowsSql(columns, 'a')})`,
  next: Object.keys(columns).length + 1,
});
const ASKED = buildInputRows(GIVEN);
const ASKED_WITH_KEYS = buildInputRows(WITH_KEYS);

/** Where a caller is guarded: the thread of a run must be one that it may change, or not be there yet. */
const GUARD = `not exists (select 1 from gx.thread h where h.thread_id = a.thread_id and not ${buildPermitSql('h.metadata', 'a.changeable')})`;

/**
 * The changes of a new run to its thread, besides counting itself: its labels, or only those that it has none of yet.
 */
const RICH = `metadata = t.metadata || excluded.metadata, updated_at = now(), `;
const PLAIN = `metadata = case when t.metadata ? 'graph_id' then t.metadata else t.metadata || excluded.metadata end, `;

/**
 * Of requests with keys, those that come first. Keys are kept in their order, so that nobody waits in a circle. A
 * request that is refused for want of a thread keeps none.
 */
const FIRST = `ready as materialized (select * from found where run_id in (select made[1] from kept))`;
const KEPT = `kept as (${buildKeyInsertSql('select key, request, made::uuid[] from found order by key')})`;

/**
 * Threads that there are, and those that may be made. The rows are locked one by one in the order of their ids, by
 * their index whatever Postgres knows of the table.
 */
const buildThreadsSql = (
  { guarded, rich, keyed, pin }: Variant,
  own: string,
): string => `${keyed ? 'found' : 'ready'} as materialized (
    select a.* from asked a where make ${guarded ? `and ${GUARD}` : ''} union all
    select a.* from asked a, lateral (select 1 from gx.thread t where t.thread_id = a.thread_id for no key update) t
    where not make ${guarded ? `and ${GUARD}` : ''}),
  ${keyed ? `${KEPT}, ${FIRST}, ` : ''}t as (
    insert into gx.thread as t (thread_id, metadata, temporary, runs, remove_after${pin.columns})
    select thread_id, thread_metadata::jsonb, temporary, 1, case when temporary then now() + (after + ${FORGOTTEN}) * interval '1 second' end${pin.values(own)} from ready
    on conflict (thread_id) do update set ${rich ? RICH : PLAIN}runs = t.runs + 1, ${pin.change(own)}
    returning thread_id, revision, runs, readers, event_seq, ${isHeld('t')} as held)`;

/** True when nobody holds the thread, no run was added to it since the caller looked, and none has to go first. */
const FREE = `not t.held and t.runs = a.runs + 1 and (select 1 from gx.run x
    where x.thread_id = t.thread_id and (x.status = 'running' or (x.status = 'pending' and x.due_at <= now())) limit 1) is null`;

const COLUMNS = `run_id, thread_id, assistant_id, graph_id, metadata, kwargs, multitask_strategy, temporary, resumable, readers, due_at, created_at, webhook, revision, status`;
const VALUES = `a.run_id, a.thread_id, assistant_id, graph_id, a.metadata::jsonb, kwargs::jsonb, strategy, a.temporary, resumable, a.readers::uuid[],
  now() + after * interval '1 second', now() + after * interval '1 second', a.webhook::jsonb, revision`;
const RETURNED = 'run_id, thread_id, created_at, updated_at, status, revision';

const WAITING = `r as (insert into gx.run (${COLUMNS}) select ${VALUES}, 'pending' from t join asked a using (thread_id) returning ${RETURNED})`;

const buildStartSql = (
  at: number,
  startsHere: string,
): string => `s as (select thread_id, revision, ${FREE} and ${startsHere} as starts from t join asked a using (thread_id)),
  r as (
    insert into gx.run (${COLUMNS}, attempt, worker, lease_until, started_at, begun)
    select ${VALUES}, case when starts then 'running' else 'pending' end, case when starts then 1 else 0 end, case when starts then $${at}::uuid end,
      case when starts then now() + $${at + 1}::float8 * interval '1 second' end, case when starts then now() end, case when starts then false end
    from s join asked a using (thread_id) returning ${RETURNED})`;

const INSERTED = `select r.*, t.readers as thread_readers,
    (select 1 from gx.checkpoints c where c.thread_id = r.thread_id::text limit 1) is null as empty,
    case when a.protocol then ${LAST_SEQ} else 0 end as thread_seq
  from r join t using (thread_id) join asked a using (run_id)`;

/** Returns the statement with its own values. Each kind has a plan of its own, because theirs cost differently. */
function buildStatement(
  beside: TicketOrStarter,
  variant: Variant,
): { name: string; text: string; values: unknown[] } {
  const { pin } = variant;
  const suffix = `${variant.guarded ? '_guarded' : ''}${variant.rich ? '' : '_plain'}${variant.keyed ? '_keyed' : ''}${pin.name}`;
  const { asked, next: first } = variant.keyed ? ASKED_WITH_KEYS : ASKED;
  const own = `$${first}::text`;
  const next = first + pin.parameters.length;
  return 'starter' in beside
    ? {
        name: `run_insert_started${suffix}`,
        text: `with ${asked}, ${buildThreadsSql(variant, own)}, ${buildStartSql(next, pin.startsHere(own))} ${INSERTED}`,
        values: [...pin.parameters, beside.starter.worker, beside.starter.leaseSeconds],
      }
    : {
        name: `run_insert${suffix}_${beside.ticket.name}`,
        text: `with ${asked}, ${buildThreadsSql(variant, own)}, ticket as (${beside.ticket.sql(next)}), ${WAITING} ${INSERTED}`,
        values: [...pin.parameters, ...beside.ticket.values],
      };
}

/**
 * Inserts runs with their threads, in one statement. With a starter, each run is that worker's at once if its thread is
 * free, and otherwise comes back as pending, without a ticket. Returns undefined in the place of a run whose thread is
 * missing and must not be made, or whose request came before. No thread may come twice. All runs have a key, or none.
 */
async function insertSome(
  { db, rich, pin }: Where,
  runs: NewRun[],
  beside: TicketOrStarter,
): Promise<(Inserted | undefined)[]> {
  const inOrder = runs.toSorted((one, other) => (one.thread_id < other.thread_id ? -1 : 1));
  const texts = new Map(
    inOrder.map(({ run_id, metadata, kwargs }) => [
      run_id,
      { metadata: toField(metadata)!, kwargs: toField(kwargs)! },
    ]),
  );
  const stored = new Map(
    await Promise.all(
      inOrder.map(async (run) => {
        const fields = runUnderContext(run.kwargs.encryption_context, () =>
          buildColumns(db, run, texts.get(run.run_id)!),
        );
        return [run.run_id, await fields] as const;
      }),
    ),
  );
  const guarded = runs.some(({ thread }) => thread.changeable !== undefined);
  const keyed = runs.some(({ key }) => key !== undefined);
  const { name, text, values } = buildStatement(beside, { guarded, rich, keyed, pin });
  const rows = await db.query<InsertedRow>({
    name,
    text,
    values: [
      inOrder.map(({ run_id }) => run_id),
      inOrder.map(({ thread_id }) => thread_id),
      inOrder.map(({ assistant_id }) => assistant_id),
      inOrder.map(({ graph_id }) => graph_id),
      inOrder.map(({ run_id }) => stored.get(run_id)!.metadata),
      inOrder.map(({ run_id }) => stored.get(run_id)!.kwargs),
      inOrder.map(({ multitask_strategy }) => multitask_strategy),
      ...(['temporary', 'resumable'] as const).map((field) =>
        inOrder.map(({ kwargs }) => kwargs[field]),
      ),
      inOrder.map(({ readers }) => `{${readers.join()}}`),
      inOrder.map(({ after_seconds }) => after_seconds),
      inOrder.map(({ thread }) => thread.create),
      inOrder.map(({ run_id }) => stored.get(run_id)!.thread_metadata),
      inOrder.map(({ thread }) => thread.runs),
      inOrder.map(({ kwargs }) => kwargs.protocol === true),
      inOrder.map(({ thread }) => encodePatterns(thread.changeable)),
      inOrder.map(({ run_id }) => stored.get(run_id)!.webhook),
      inOrder.map(({ kwargs }) => isContinued(kwargs)),
      ...(['revision', 'asker'] as const).map((field) =>
        inOrder.map(({ place }) => place?.[field] ?? null),
      ),
      ...(keyed
        ? [
            inOrder.map(({ key }) => key!.key),
            inOrder.map(({ key }) => key!.request),
            inOrder.map(formatKeyIds),
          ]
        : []),
      ...values,
    ],
  });
  const found = new Map(rows.map((row) => [row.run_id, row]));
  return runs.map((run) => {
    const row = found.get(run.run_id);
    return row && toInsertedRun(run, row, texts.get(run.run_id)!);
  });
}

/**
 * Returns the ids that are kept with the key of a run: its id, its thread's, and that of the task that it goes on with.
 */
const formatKeyIds = ({ run_id, thread_id, task }: NewRun): string =>
  `{${[run_id, thread_id, ...(task !== undefined && 'first' in task ? [task.first] : [])].join()}}`;

/** Returns true for a run that brings no new input, so that it goes on with the state of its thread. */
const isContinued = ({ input, command }: NewRun['kwargs']): boolean =>
  input === null || command !== null;

async function buildColumns(
  db: Db,
  { run_id, metadata, kwargs, webhook, task, thread }: NewRun,
  texts: { kwargs: string },
) {
  return {
    metadata: await sealNamedField(db, 'run.metadata', metadata),
    kwargs: buildKwargsColumn(kwargs, await db.codec.seal(runKwargsPlace(run_id), texts.kwargs)),
    thread_metadata: await sealNamedField(db, 'thread.metadata', thread.metadata),
    webhook: await sealWebhookField(db, run_id, { webhook, task }),
  };
}

/** Returns the run as it is stored. Its JSON is the text that was sent, so it need not be read back. */
function toInsertedRun(
  { run_id, assistant_id, multitask_strategy, webhook }: NewRun,
  { thread_readers, empty, thread_seq, revision, ...row }: InsertedRow,
  { metadata, kwargs }: { metadata: string; kwargs: string },
): Inserted {
  const { thread_id, created_at, updated_at, status } = row;
  const json = {
    metadata: JSON.parse(metadata) as Run['metadata'],
    kwargs: JSON.parse(kwargs) as Run['kwargs'],
  };
  const head = { run_id, thread_id, assistant_id, created_at, updated_at, status };
  const facts = {
    multitask_strategy,
    webhook_status: webhook && (webhook.skipped === true ? NEVER_SENT : NOT_SENT),
    attempt: status === 'running' ? 1 : 0,
    revision,
    usage: null,
  };
  const run: Run = { ...head, ...json, ...facts };
  return { run, thread_readers, empty, thread_seq, revision };
}

/** How runs are stored, which decides over the rows beside them and whether their statement is shared with others. */
type InsertKind =
  /** Each waits for a worker, with a ticket. */
  | { kind: 'waiting' }
  /**
   * Each is the starter's if its thread is free; otherwise it comes back as pending, without a ticket. Throws
   * `Conflict` when another run of the thread was started at the same moment.
   */
  | { kind: 'starting'; starter: Starter }
  /** All wait, in one statement of a transaction. They are on different threads. */
  | { kind: 'within'; tx: Db };

/**
 * Stores runs, and returns them as they were stored; undefined in the place of one whose thread is missing and must not
 * be made, or whose key is kept already.
 */
export type InsertRuns = (runs: NewRun[], how: InsertKind) => Promise<(Inserted | undefined)[]>;

/** `rich`: threads show the last run that was made on them. `pinning`: of this process. */
export function createRunInserts(
  db: Db,
  queue: { buildInsert(runs: readonly NewRun[]): TicketInsert },
  { rich, pinning }: { rich: boolean; pinning: Pinning },
): InsertRuns {
  const shared = { rich, pin: buildPinPart(pinning) };
  const insertWaiting = (on: Db, runs: NewRun[]): Promise<(Inserted | undefined)[]> =>
    insertSome({ db: on, ...shared }, runs, { ticket: queue.buildInsert(runs) });
  const createBatchers = () => ({
    starting: new Batcher(
      (some: { run: NewRun; starter: Starter }[]) => {
        const runs = some.map(({ run }) => run);
        // There is one worker in this process.
        return insertSome({ db, ...shared }, runs, { starter: some[0]!.starter });
      },
      ({ run }) => run.thread_id,
    ),
    waiting: new Batcher(
      (runs: NewRun[]) => insertWaiting(db, runs),
      ({ thread_id }) => thread_id,
    ),
  });
  // Runs without keys never wait for rivals of those with keys, and their statements stay as short.
  const [plain, keyed] = [createBatchers(), createBatchers()];
  return (runs, how) => {
    if (how.kind === 'within')
      return runs.length === 0 ? Promise.resolve([]) : insertWaiting(how.tx, runs);
    const added = runs.map((run) => {
      const batchers = run.key === undefined ? plain : keyed;
      if (how.kind === 'waiting') return batchers.waiting.add(run);
      const { worker, leaseSeconds } = how.starter;
      return batchers.starting.add({ run, starter: { worker, leaseSeconds } });
    });
    return Promise.all(added);
  };
}
