import {
  CRON_FIELDS,
  type Cron,
  type CronCall,
  type CronCount,
  type CronSearch,
} from '../../../schema/agent/cron.ts';
import { openRows, sealNamed, type Place, type SealedColumns } from '../../encryption/codec.ts';
import { toField } from '../base/json-field.ts';
import { buildKeyInsertSql } from '../base/idempotency-keys.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import {
  encodePatterns,
  buildPermitSql,
  buildSearchPermitSql,
  type Patterns,
} from '../base/permits.ts';
import type { Db } from '../base/pool.ts';
import { refuseByNamed } from '../base/unsearchable.ts';
import type { Json } from '../../../schema/json.ts';

const COLUMNS = CRON_FIELDS.map((name) => `c.${name}`).join(', ');

/** The sealed parts of a cron: the arguments of its runs, the caller for whom they act, and labels of some names. */
type SealedCron = {
  cron_id: string;
  payload?: unknown;
  owner?: unknown;
  metadata?: unknown;
  config?: unknown;
};

export const buildCronPayloadPlace = (cron_id: string): Place => ({
  kind: 'cron.payload',
  of: cron_id,
});
export const buildCronOwnerPlace = (cron_id: string): Place => ({
  kind: 'cron.payload',
  of: `owner of ${cron_id}`,
  field: 'owner',
});
const SEALED_COLUMNS: SealedColumns<SealedCron> = {
  payload: ({ cron_id }) => buildCronPayloadPlace(cron_id),
  owner: ({ cron_id }) => buildCronOwnerPlace(cron_id),
  metadata: 'named',
  config: 'named',
};

/** Opens the sealed parts of crons. */
export async function openCrons<C extends { cron_id: string }>(
  { codec }: Db,
  crons: C[],
): Promise<C[]> {
  await openRows<SealedCron>(codec, crons, SEALED_COLUMNS);
  return crons;
}

const openFirstCron = async <C extends { cron_id: string }>(
  db: Db,
  crons: C[],
): Promise<C | undefined> => (await openCrons(db, crons))[0];

/** `payload` is the stored call; `owner`, the user for whom its runs act. */
export type NewCron = Omit<Cron, 'created_at' | 'updated_at' | 'payload'> & {
  payload: CronCall;
  owner: Json | undefined;
};

/** Yields a row where the assistant and the thread of a new cron are there. */
const PLACE = 'from a where $3::uuid is null or exists (select 1 from t)';

/**
 * Inserts a cron; returns undefined when its assistant or its thread is gone, or its request's key is kept already. A
 * thread that goes with its run can have none.
 */
export async function insertCron(
  db: Db,
  cron: NewCron,
  once?: RequestKey,
): Promise<Cron | undefined> {
  const { codec } = db;
  const kept = `, kept as (${buildKeyInsertSql(`select $14, $15, array[$1::uuid] ${PLACE}`)})`;
  const rows = await db.query<Cron>({
    name: once === undefined ? 'cron_insert' : 'cron_insert_once',
    text: `with a as (select 1 from gx.assistant where assistant_id = $2 for key share),
        t as (select 1 from gx.thread where thread_id = $3 and not temporary for key share)${once === undefined ? '' : kept}
      insert into gx.cron as c (cron_id, assistant_id, thread_id, user_id, owner, schedule, timezone, end_time, next_run_date, enabled,
        on_run_completed, payload, metadata)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 ${once === undefined ? PLACE : 'from kept'}
      returning ${COLUMNS}`,
    values: [
      cron.cron_id,
      cron.assistant_id,
      cron.thread_id,
      cron.user_id,
      cron.owner === undefined
        ? null
        : await codec.seal(buildCronOwnerPlace(cron.cron_id), toField(cron.owner)!),
      ...(await sealChangeableColumns(codec, cron.cron_id, cron)),
      ...(once === undefined ? [] : [once.key, once.request]),
    ],
  });
  return openFirstCron(db, rows);
}

/** Returns the cron; undefined when it is not there, or may not be seen. */
export async function getCron(db: Db, cronId: string, seen?: Patterns): Promise<Cron | undefined> {
  const rows = await db.query<Cron>({
    name: 'cron_get',
    text: `select ${COLUMNS} from gx.cron c where c.cron_id = $1 and ${buildPermitSql('c.metadata', '$2')}`,
    values: [cronId, encodePatterns(seen)],
  });
  return openFirstCron(db, rows);
}

/** A cron that is held for a change, with the values that its runs take from its assistant. */
export type HeldCron = Cron & { graph_id: string; config: Json };

/** Returns the cron and holds it, so that it neither fires nor changes until the transaction ends. */
export async function holdCron(
  tx: Db,
  cronId: string,
  changeable?: Patterns,
): Promise<HeldCron | undefined> {
  const rows = await tx.query<HeldCron>({
    name: 'cron_hold',
    text: `select ${COLUMNS}, a.graph_id, a.config from gx.cron c join gx.assistant a using (assistant_id)
      where c.cron_id = $1 and ${buildPermitSql('c.metadata', '$2')} for no key update of c`,
    values: [cronId, encodePatterns(changeable)],
  });
  return openFirstCron(tx, rows);
}

export type ChangedCron = Pick<
  Cron,
  | 'schedule'
  | 'timezone'
  | 'end_time'
  | 'next_run_date'
  | 'enabled'
  | 'on_run_completed'
  | 'metadata'
> & {
  payload: CronCall;
};

/** Returns the columns that a change may set, in the order of both statements. */
const sealChangeableColumns = async (
  codec: Db['codec'],
  cronId: string,
  cron: ChangedCron,
): Promise<unknown[]> => [
  cron.schedule,
  cron.timezone,
  cron.end_time,
  cron.next_run_date,
  cron.enabled,
  cron.on_run_completed,
  await codec.seal(buildCronPayloadPlace(cronId), toField(cron.payload)!),
  toField(await sealNamed(codec, 'cron.metadata', cron.metadata)),
];

/** Replaces the settings of a held cron. Its metadata is merged. */
export async function updateCron(tx: Db, cronId: string, cron: ChangedCron): Promise<Cron> {
  const rows = await tx.query<Cron>({
    name: 'cron_update',
    text: `update gx.cron c set schedule = $2, timezone = $3, end_time = $4, next_run_date = $5, enabled = $6, on_run_completed = $7, payload = $8,
        metadata = c.metadata || $9, updated_at = now()
      where c.cron_id = $1 returning ${COLUMNS}`,
    values: [cronId, ...(await sealChangeableColumns(tx.codec, cronId, cron))],
  });
  return (await openFirstCron(tx, rows))!;
}

/** Deletes the cron; returns false when it is not there, or may not be deleted. */
export async function deleteCron(db: Db, cronId: string, deletable?: Patterns): Promise<boolean> {
  const rows = await db.query({
    name: 'cron_delete',
    text: `delete from gx.cron where cron_id = $1 and ${buildPermitSql('metadata', '$2')} returning 1`,
    values: [cronId, encodePatterns(deletable)],
  });
  return rows.length > 0;
}

/** Deletes the crons of threads that may be deleted. */
export async function deleteCronsOf(
  tx: Db,
  threadIds: string[],
  deletable?: Patterns,
): Promise<void> {
  await tx.query({
    name: 'cron_delete_of_threads',
    text: `delete from gx.cron where thread_id = any($1) and not exists (
      select 1 from gx.thread t where t.thread_id = gx.cron.thread_id and not ${buildPermitSql('t.metadata', '$2')})`,
    values: [threadIds, encodePatterns(deletable)],
  });
}

/** `assistant_id` is an id here. */
type Filters = CronCount & { seen?: Patterns };

/** Decides, in one place, which crons a search may see. */
function buildWhere(
  { assistant_id, thread_id, enabled, metadata, seen }: Filters,
  parameters: unknown[],
): string {
  const addParameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['true', ...buildSearchPermitSql('c.metadata', seen, addParameter)];
  if (assistant_id) conditions.push(`c.assistant_id = ${addParameter(assistant_id)}`);
  if (thread_id) conditions.push(`c.thread_id = ${addParameter(thread_id)}`);
  if (typeof enabled === 'boolean') conditions.push(`c.enabled = ${addParameter(enabled)}`);
  if (metadata && Object.keys(metadata).length > 0)
    conditions.push(`c.metadata @> ${addParameter(toField(metadata))}`);
  return conditions.join(' and ');
}

/** Crons without a value come last. Only columns that may lack one say so, because an index serves the others. */
const buildOrderSql = ({ sort_by, sort_order }: CronSearch): string => {
  const column = sort_by ?? 'created_at';
  const last = ['thread_id', 'next_run_date', 'end_time'].includes(column) ? ' nulls last' : '';
  return `c.${column} ${sort_order ?? 'desc'}${last}`;
};

export type FoundCron = Partial<Cron> & Cron;

/** Returns one row more than asked for, where there is a next page. */
export async function searchCrons(
  db: Db,
  search: CronSearch & { seen?: Patterns },
): Promise<FoundCron[]> {
  await refuseByNamed(db.codec, 'cron.metadata', search.metadata);
  const parameters: unknown[] = [];
  const condition = buildWhere(search, parameters);
  const selected = search.select && search.select.length > 0 ? search.select : CRON_FIELDS;
  const fields = new Set([...selected, 'cron_id', 'assistant_id']);
  const columns = [...fields]
    .map((name) => (name === 'now' ? 'now() as now' : `c.${name}`))
    .join(', ');
  const page = `limit $${parameters.push(search.limit + 1)} offset $${parameters.push(search.offset)}`;
  const rows = await db.query<FoundCron>({
    text: `select ${columns} from gx.cron c where ${condition}
      order by ${buildOrderSql(search)}, c.cron_id ${page}`,
    values: parameters,
  });
  return openCrons(db, rows);
}

export async function countCrons(db: Db, filters: Filters): Promise<number> {
  await refuseByNamed(db.codec, 'cron.metadata', filters.metadata);
  const parameters: unknown[] = [];
  const [row] = await db.query<{ count: number }>({
    text: `select count(*) as count from gx.cron c where ${buildWhere(filters, parameters)}`,
    values: parameters,
  });
  return row?.count ?? 0;
}
