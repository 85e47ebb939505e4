import {
  IN_A_PACK,
  buildPackedSql,
  buildPacksSql,
  UNPACKED,
  VALUE,
  buildPackedWritesSql,
} from './checkpoint-packs.ts';
import { openCheckpoints, type ListInBytes } from '../fields/checkpoint-fields.ts';
import { toField } from '../base/json-field.ts';
import { isListRow, type ListRow } from './list-bytes.ts';
import type { Db } from '../base/pool.ts';
import { refuseByNamed } from '../base/unsearchable.ts';

/* This file reads checkpoints, wherever they are stored. */

export async function hasCheckpoint(
  db: Db,
  key: [threadId: string, namespace: string, checkpointId: string],
): Promise<boolean> {
  const rows = await db.query({
    name: 'checkpoint_has',
    text: `select 1 from gx.checkpoints where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3
      union all select 1 from (${buildPackedSql('gx.checkpoint_packs p')}
        where p.thread_id = $1 and p.checkpoint_ns = $2 and ${buildPacksSql({ key: 'thread_id = $1 and checkpoint_ns = $2', checkpointId: '$3' })}) c
      where checkpoint_id = $3`,
    values: key,
  });
  return rows.length > 0;
}

/** JSON, bytes as they are, or bytes whose form is known to the runner that stored them: `py:msgpack`. */
export type ValueType = 'json' | 'bytes' | `${string}:${string}`;

/**
 * A stored value: its channel, its encoding, and the value itself as JSON, or as base64 where it is bytes. A list also
 * has its version and that of its base.
 */
export type StoredValue =
  | [channel: string, type: 'list' | ListInBytes, version: string, base: string | null]
  | [channel: string, type: ValueType | 'empty', value: unknown];

type Versions = Record<string, string | number>;

export type StoredCheckpoint = {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  /** LangGraph's checkpoint without the values of its channels; `v` is the version of its format. */
  checkpoint: { v: number; id: string; ts: string } & {
    channel_versions?: Versions;
    versions_seen?: Record<string, Versions>;
  };
  metadata: Record<string, unknown>;
  values: StoredValue[] | null;
  writes: [taskId: string, channel: string, type: ValueType, value: unknown][] | null;
  /** Comes with the first checkpoint: the rows of all lists that the reader does not know. */
  lists: ListRow[] | null;
};

export type WhichCheckpoints = {
  /** Absent means any thread. */
  threadId?: string | undefined;
  /** Absent means the graph and its subgraphs. */
  namespace?: string | undefined;
  checkpointId?: string | undefined;
  before?: string | undefined;
  metadata?: object | undefined;
  limit?: number | undefined;
  /** Lists that the reader has (`channel\nversion`); neither they nor the rows that they are made from are read. */
  known?: string[] | undefined;
};

/** LangGraph applies the writes of a step's tasks in this order: `writesSortKey` of its checkpointer's contract. */
const WRITES_ORDER = `order by task_path collate "C", task_id collate "C", idx`;

const LIST_VALUE = `case b.type when 'list' then convert_from(b.blob, 'UTF8')::json else to_json(encode(b.blob, 'base64')) end`;

const LIST_KEY = 'b.thread_id, b.checkpoint_ns, b.channel, b.version, b.base';

/**
 * The writes of tasks on the packed checkpoint `c`. Some may have been written later, by a run that began there: as
 * elsewhere, these replace errors and interrupts, and nothing else.
 */
const PACKED_WRITES = `(
  select distinct on (task_id, idx) task_id, task_path, idx, channel, type, value from (
    select task_id, task_path, idx, channel, type, value, idx >= 0 as holds from (${buildPackedWritesSql('c')}) w
    union all
    select task_id, task_path, idx, channel, type, ${VALUE}, idx < 0 from gx.checkpoint_writes w
    where w.thread_id = c.thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id) w
  order by task_id, idx, holds desc) w`;

/**
 * Returns checkpoints, newest first, each with its values and the writes of tasks on it. The newest are rows, which one
 * statement reads; another one looks into packs, where some that were asked for may be.
 */
export async function readCheckpoints(
  db: Db,
  which: WhichCheckpoints,
): Promise<StoredCheckpoint[]> {
  const rows = await readFrom(db, which, false);
  if (!mayBePacked(which, rows.length)) return rows;
  const packed = await readFrom(db, which, true);
  if (packed.length === 0) return rows;
  const lists = [...rows, ...packed].flatMap((row) => row.lists ?? []);
  // Checkpoints that were packed between the two statements were read twice.
  const all = new Map(
    [...packed, ...rows].map((row) => [`${row.checkpoint_ns}\n${row.checkpoint_id}`, row]),
  );
  const found = [...all.values()]
    .toSorted((a, b) => (a.checkpoint_id < b.checkpoint_id ? 1 : -1))
    .slice(0, which.limit);
  return found.map((row, at) => ({ ...row, lists: at === 0 ? lists : null }));
}

/** A graph that has packs has UNPACKED newer checkpoints, which are rows. */
function mayBePacked(
  { namespace, checkpointId, before, metadata, limit }: WhichCheckpoints,
  found: number,
): boolean {
  if (checkpointId !== undefined) return found === 0;
  if (
    before === undefined &&
    metadata === undefined &&
    found < UNPACKED &&
    (limit === undefined || found < limit)
  )
    return false;
  return namespace === undefined || limit === undefined || found < limit;
}

/** Returns the condition for packs that are opened at all. A filter by metadata may have to open all of them. */
function buildPacksCondition({
  thread,
  graph,
  id,
  end,
  meta,
  most,
}: Record<'thread' | 'graph' | 'id' | 'end' | 'meta' | 'most', string | undefined>): string {
  if (thread === undefined || graph === undefined) return 'true';
  const packs =
    most !== undefined && meta === undefined ? `${most}::int / ${IN_A_PACK} + 2` : undefined;
  return buildPacksSql({
    key: `thread_id = ${thread} and checkpoint_ns = ${graph}`,
    checkpointId: id,
    before: end,
    packs,
  });
}

function buildSource(
  { threadId, namespace, checkpointId, before, metadata, limit }: WhichCheckpoints,
  packed: boolean,
) {
  const parameters: unknown[] = [];
  const addParameter = (value: unknown): string | undefined =>
    value === undefined ? undefined : `$${parameters.push(value)}`;
  const [thread, graph, id] = [
    addParameter(threadId),
    addParameter(namespace),
    addParameter(checkpointId),
  ];
  const [end, meta, most] = [
    addParameter(before),
    addParameter(metadata && toField(metadata)),
    addParameter(limit),
  ];
  const conditions = [
    thread && `c.thread_id = ${thread}`,
    graph && `c.checkpoint_ns = ${graph}`,
    id && `c.checkpoint_id = ${id}`,
    end && `c.checkpoint_id < ${end}`,
    meta && `c.metadata @> ${meta}`,
  ];
  const source = packed
    ? `(${buildPackedSql('gx.checkpoint_packs p')} where ${buildPacksCondition({ thread, graph, id, end, meta, most })})`
    : 'gx.checkpoints';
  const where = ['true', ...conditions.filter((condition) => condition !== undefined)].join(
    ' and ',
  );
  return {
    parameters,
    source: `select * from ${source} c where ${where} order by c.checkpoint_id desc ${most ? `limit ${most}` : ''}`,
  };
}

/**
 * Reads checkpoints from rows, or from packs. It takes one statement, and one text to parse for each checkpoint.
 * Lateral joins keep the planner to the primary key: it would read all values of a long thread otherwise.
 */
async function readFrom(
  db: Db,
  which: WhichCheckpoints,
  packed: boolean,
): Promise<StoredCheckpoint[]> {
  await refuseByNamed(db.codec, 'checkpoint.metadata', which.metadata);
  const { threadId, namespace, checkpointId, before, metadata, limit, known = [] } = which;
  const { parameters, source } = buildSource(which, packed);
  const given = [threadId, namespace, checkpointId, before, metadata, limit].map((value) =>
    Number(value !== undefined),
  );
  const rows = await db.query<StoredCheckpoint>({
    name: `checkpoint_read_${given.join('')}${packed ? '_packed' : ''}`,
    text: `with recursive c as materialized (
        ${source}),
      ${buildChainSql('c', `$${parameters.push(known)}`)}
      select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata,
        (select json_agg(case when ${isListRow('type')} then json_build_array(channel, type, version, base) else json_build_array(channel, type, ${VALUE}) end)
          from jsonb_each_text(c.checkpoint->'channel_versions') v, lateral (
            select * from gx.checkpoint_blobs b where b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
              and b.channel = v.key and b.version = v.value limit 1) b) as values,
        ${packed ? buildWritesSql('w.value', PACKED_WRITES) : buildWritesSql(VALUE, ROW_WRITES)} as writes,
        case when row_number() over (order by checkpoint_id desc) = 1 then (
          select json_agg(json_build_array(l.thread_id, l.checkpoint_ns, l.channel, l.version, l.base, b.value, b.type)) from chain l, lateral (
            select ${LIST_VALUE} as value, b.type from gx.checkpoint_blobs b where b.thread_id = l.thread_id
              and b.checkpoint_ns = l.checkpoint_ns and b.channel = l.channel and b.version = l.version limit 1) b) end as lists
      from c order by checkpoint_id desc`,
    values: parameters,
  });
  return openCheckpoints(db.codec, rows);
}

const ROW_WRITES = `gx.checkpoint_writes w
  where w.thread_id = c.thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id`;

const buildWritesSql = (value: string, from: string): string =>
  `(select json_agg(json_build_array(task_id, channel, type, ${value}) ${WRITES_ORDER}) from ${from})`;

/** The rows of all lists of checkpoints, down to those that are whole; not the ones that the reader knows. */
const buildChainSql = (checkpoints: string, known: string): string => `chain as (
    select ${LIST_KEY} from ${checkpoints} c, jsonb_each_text(c.checkpoint->'channel_versions') v, lateral (
      select * from gx.checkpoint_blobs b where b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
        and b.channel = v.key and b.version = v.value and ${isListRow('b.type')} limit 1) b
    where b.channel || E'\\n' || b.version <> all(${known}::text[])
    union
    select ${LIST_KEY} from chain l, lateral (
      select * from gx.checkpoint_blobs b where b.thread_id = l.thread_id and b.checkpoint_ns = l.checkpoint_ns
        and b.channel = l.channel and b.version = l.base limit 1) b
    where b.channel || E'\\n' || b.version <> all(${known}::text[]))`;
