import type { Assistant, AssistantSearch } from '../../../schema/agent/assistant.ts';
import { openRows } from '../../encryption/codec.ts';
import { toField } from '../base/json-field.ts';
import {
  encodePatterns,
  buildPermitSql,
  buildSearchPermitSql,
  type Patterns,
} from '../base/permits.ts';
import type { Database, Db } from '../base/pool.ts';
import { sealNamedField } from '../fields/sealed-fields.ts';
import { refuseByNamed } from '../base/unsearchable.ts';

const COLUMNS =
  'assistant_id, graph_id, name, description, config, context, metadata, version, created_at, updated_at';
const VERSIONED = 'assistant_id, version, graph_id, name, description, config, context, metadata';

export type NewAssistant = Pick<
  Assistant,
  'assistant_id' | 'graph_id' | 'name' | 'description' | 'config' | 'context' | 'metadata'
>;

const openAssistants = <A extends Partial<Assistant>>({ codec }: Db, rows: A[]): Promise<A[]> =>
  openRows<A>(codec, rows, { config: 'named', context: 'named', metadata: 'named' });

const sealColumns = async (db: Db, assistant: NewAssistant): Promise<unknown[]> => [
  assistant.assistant_id,
  assistant.graph_id,
  assistant.name,
  assistant.description,
  await sealNamedField(db, 'assistant.config', assistant.config),
  await sealNamedField(db, 'assistant.context', assistant.context),
  await sealNamedField(db, 'assistant.metadata', assistant.metadata),
];

/** Inserts an assistant; returns undefined when the id is taken. */
export async function insertAssistant(
  db: Db,
  assistant: NewAssistant,
): Promise<Assistant | undefined> {
  const rows = await db.query<Assistant>({
    text: `with a as (
        insert into gx.assistant (assistant_id, graph_id, name, description, config, context, metadata) values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (assistant_id) do nothing returning ${COLUMNS}),
      v as (insert into gx.assistant_version (${VERSIONED}) select ${VERSIONED} from a)
      select * from a`,
    values: await sealColumns(db, assistant),
  });
  return (await openAssistants(db, rows))[0];
}

/**
 * Makes a graph's own assistant. An existing one gets the given config and context, unless a client has made another
 * version of it.
 */
export async function keepSystemAssistant(db: Db, assistant: NewAssistant): Promise<void> {
  await db.query({
    text: `with a as (
        insert into gx.assistant as a (assistant_id, graph_id, name, description, config, context, metadata) values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (assistant_id) do update set config = excluded.config, context = excluded.context, updated_at = now()
          where a.version = 1 and (a.config, a.context) is distinct from (excluded.config, excluded.context) returning ${COLUMNS})
      insert into gx.assistant_version (${VERSIONED}) select ${VERSIONED} from a
      on conflict (assistant_id, version) do update set config = excluded.config, context = excluded.context`,
    values: await sealColumns(db, assistant),
  });
}

/** Returns the assistants with these ids, as far as they exist and may be seen. */
export async function getAssistants(
  db: Db,
  assistantIds: string[],
  seen?: Patterns,
): Promise<Assistant[]> {
  const rows = await db.query<Assistant>({
    name: 'assistant_get',
    text: `select ${COLUMNS} from gx.assistant where assistant_id = any($1) and ${buildPermitSql('metadata', '$2')}`,
    values: [assistantIds, encodePatterns(seen)],
  });
  return openAssistants(db, rows);
}

/**
 * `context` and `config.configurable` mirror each other: a new context keeps the other settings of the config, and new
 * settings keep the context.
 */
const MIRROR = `case when coalesce($6, context) = '{}' then '{}'::jsonb else jsonb_build_object('configurable', coalesce($6, context)) end`;

/** Makes the assistant's next version: the given fields replace the old ones, and metadata is merged. */
export async function patchAssistant(
  db: Db,
  assistantId: string,
  patch: Partial<NewAssistant>,
  changeable?: Patterns,
): Promise<Assistant | undefined> {
  const rows = await db.query<Assistant>({
    text: `with a as (
        update gx.assistant a set graph_id = coalesce($2, graph_id), name = coalesce($3, name),
          description = coalesce($4, description), config = (coalesce($5, config) - 'configurable') || ${MIRROR}, context = coalesce($6, context),
          metadata = metadata || coalesce($7, '{}'::jsonb), updated_at = now(),
          version = (select max(version) + 1 from gx.assistant_version v where v.assistant_id = a.assistant_id)
        where assistant_id = $1 and ${buildPermitSql('metadata', '$8')} returning ${COLUMNS}),
      v as (insert into gx.assistant_version (${VERSIONED}) select ${VERSIONED} from a)
      select * from a`,
    values: [
      assistantId,
      patch.graph_id ?? null,
      patch.name ?? null,
      patch.description ?? null,
      await sealNamedField(db, 'assistant.config', patch.config),
      await sealNamedField(db, 'assistant.context', patch.context),
      await sealNamedField(db, 'assistant.metadata', patch.metadata),
      encodePatterns(changeable),
    ],
  });
  return (await openAssistants(db, rows))[0];
}

/** Makes an older version the current one. */
export async function setLatest(
  db: Db,
  assistantId: string,
  version: number,
  changeable?: Patterns,
): Promise<Assistant | undefined> {
  const rows = await db.query<Assistant>({
    text: `update gx.assistant a set version = v.version, config = v.config, context = v.context, metadata = v.metadata, name = v.name,
        description = v.description, updated_at = now()
      from gx.assistant_version v where v.assistant_id = a.assistant_id and a.assistant_id = $1 and v.version = $2 and ${buildPermitSql('a.metadata', '$3')}
      returning ${COLUMNS.split(', ')
        .map((name) => `a.${name}`)
        .join(', ')}`,
    values: [assistantId, version, encodePatterns(changeable)],
  });
  return (await openAssistants(db, rows))[0];
}

export async function listVersions(
  db: Db,
  assistantId: string,
  { metadata, limit, offset }: { metadata?: object | null; limit: number; offset: number },
): Promise<Assistant[]> {
  await refuseByNamed(db.codec, 'assistant.metadata', metadata);
  const rows = await db.query<Assistant>({
    text: `select ${VERSIONED}, created_at, created_at as updated_at from gx.assistant_version
      where assistant_id = $1 and ($2::jsonb is null or metadata @> $2) order by version desc limit $3 offset $4`,
    values: [assistantId, toField(metadata), limit, offset],
  });
  return openAssistants(db, rows);
}

/** Returns the settings of a version of an assistant; undefined where there is none. */
export async function loadVersionSettings(
  db: Pick<Database, 'query' | 'codec'>,
  { assistantId, version }: { assistantId: string; version: number },
): Promise<
  Pick<Assistant, 'graph_id' | 'version' | 'config' | 'context' | 'metadata'> | undefined
> {
  const rows = await db.query<Assistant>({
    name: 'assistant_settings_of_version',
    text: 'select assistant_id, graph_id, version, config, context, metadata from gx.assistant_version where assistant_id = $1 and version = $2',
    values: [assistantId, version],
  });
  const [found] = await openAssistants(db, rows);
  return (
    found && {
      graph_id: found.graph_id,
      version,
      config: found.config,
      context: found.context,
      metadata: found.metadata,
    }
  );
}

/** The records that may be deleted: of the assistants, and of the threads that belong to one. */
type Deletable = { assistants?: Patterns; threads?: Patterns };

/**
 * Deletes the assistant, and returns the threads that belong to it and may be deleted, so that the caller can go on
 * with them. Returns undefined when there is no such assistant.
 */
export function deleteAssistant(
  db: Database,
  assistantId: string,
  { assistants, threads: ofThreads }: Deletable = {},
): Promise<{ threads: string[] } | undefined> {
  return db.transaction(async (tx) => {
    const gone = await tx.query({
      text: `delete from gx.assistant where assistant_id = $1 and ${buildPermitSql('metadata', '$2')} returning 1`,
      values: [assistantId, encodePatterns(assistants)],
    });
    if (gone.length === 0) return undefined;
    const threads = await tx.query<{ thread_id: string }>({
      text: `select thread_id from gx.thread where metadata @> jsonb_build_object('assistant_id', $1::text) and ${buildPermitSql('metadata', '$2')}`,
      values: [assistantId, encodePatterns(ofThreads)],
    });
    return { threads: threads.map((row) => row.thread_id) };
  });
}

export async function loadActiveRunIds(db: Db, assistantId: string): Promise<string[]> {
  const rows = await db.query<{ run_id: string }>({
    text: `select run_id from gx.run where assistant_id = $1 and status in ('pending', 'running')`,
    values: [assistantId],
  });
  return rows.map((row) => row.run_id);
}

export type AssistantFilters = Pick<AssistantSearch, 'ids' | 'metadata' | 'graph_id' | 'name'> & {
  graphs: string[];
  seen?: Patterns;
};

/** Decides, in one place, which assistants a search may see: those whose graph this server has. */
export function buildAssistantsWhere(
  { ids, metadata, graph_id, name, graphs, seen }: AssistantFilters,
  parameters: unknown[],
): string {
  const addParameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = [
    `graph_id = any(${addParameter(graphs)})`,
    ...buildSearchPermitSql('metadata', seen, addParameter),
  ];
  if (ids) conditions.push(`assistant_id = any(${addParameter(ids)}::uuid[])`);
  if (metadata && Object.keys(metadata).length > 0)
    conditions.push(`metadata @> ${addParameter(toField(metadata))}`);
  if (graph_id) conditions.push(`graph_id = ${addParameter(graph_id)}`);
  if (name) conditions.push(`position(lower(${addParameter(name)}) in lower(name)) > 0`);
  return conditions.join(' and ');
}

/** Returns one row more than asked for, where there is a next page. */
export async function searchAssistants(
  db: Db,
  search: AssistantSearch & AssistantFilters,
): Promise<Partial<Assistant>[]> {
  await refuseByNamed(db.codec, 'assistant.metadata', search.metadata);
  const parameters: unknown[] = [];
  const condition = buildAssistantsWhere(search, parameters);
  const order = `${search.sort_by ?? 'created_at'} ${search.sort_order ?? 'desc'}, assistant_id`;
  const page = `limit $${parameters.push(search.limit + 1)} offset $${parameters.push(search.offset)}`;
  const rows = await db.query<Partial<Assistant>>({
    text: `select ${search.select?.join(', ') || COLUMNS} from gx.assistant where ${condition} order by ${order} ${page}`,
    values: parameters,
  });
  return openAssistants(db, rows);
}

export async function countAssistants(db: Db, filters: AssistantFilters): Promise<number> {
  await refuseByNamed(db.codec, 'assistant.metadata', filters.metadata);
  const parameters: unknown[] = [];
  const [row] = await db.query<{ count: number }>({
    text: `select count(*) as count from gx.assistant where ${buildAssistantsWhere(filters, parameters)}`,
    values: parameters,
  });
  return row?.count ?? 0;
}
