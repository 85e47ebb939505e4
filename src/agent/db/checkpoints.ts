import { fieldText, toField } from './json-field.ts';
import type { StoredList } from './list-rows.ts';
import type { Db } from './pool.ts';

type Key = [threadId: string, namespace: string, checkpointId: string];

export type NewCheckpoint = {
  key: Key;
  parentId: string | null;
  checkpoint: unknown;
  /** JSON text. */
  metadata: string;
  blobs: NewValue[];
};

/** A value of a channel; `base` is the version that a list adds to. */
export type NewValue = { channel: string; version: string; type: string; blob: Uint8Array | null; base?: string | undefined };

export type NewWrites = {
  key: Key;
  taskId: string;
  /** The place of the task among those of its step, as text; empty for what no task wrote. */
  taskPath: string;
  runId: string | null;
  replace: boolean;
  writes: { index: number; channel: string; type: string; blob: Uint8Array }[];
};

const bytes = (value: Uint8Array | null): Buffer | null =>
  value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength);

export type Step = { put: NewCheckpoint } | { writes: NewWrites };

const WRITES = `insert into gx.checkpoint_writes as o
  (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob)`;
/** What a run replaces of its own is gone; what it replaces of another run's comes back when the run is rolled back. */
const BEFORE = `case when o.run_id is not distinct from excluded.run_id then o.before else jsonb_build_object(
    'run_id', o.run_id, 'channel', o.channel, 'type', o.type, 'blob', encode(o.blob, 'base64'), 'before', o.before) end`;
const WRITE_FIELDS = 'w (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, replaces, idx, channel, type, blob)';

/**
 * Writes the steps of several runs, or of several tasks of one run, in one statement: checkpoints with the channel
 * values that are new in them, and what tasks wrote. Errors and interrupts replace what was in their place.
 */
export async function writeSteps(db: Db, steps: Step[]): Promise<void> {
  const puts = steps.flatMap((step) => ('put' in step ? [step.put] : []));
  const blobs = puts.flatMap(({ key: [thread, namespace], blobs: own }) => own.map((blob) => ({ thread, namespace, ...blob })));
  const writes = steps.flatMap((step) => ('put' in step ? [] : step.writes.writes.map((write) => ({ ...step.writes, ...write }))));
  await db.query({
    name: 'checkpoint_steps',
    text: `with blobs as (
        insert into gx.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, base)
        select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $24::text[]) on conflict do nothing),
      w as materialized (select * from unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::int[],
          $15::text[], $16::text[], $17::bytea[]) as ${WRITE_FIELDS}),
      kept as (${WRITES} select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob from w where not replaces
        on conflict do nothing),
      replaced as (${WRITES} select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob from w where replaces
        on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
          do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob, run_id = excluded.run_id, before = ${BEFORE})
      insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      select thread_id, checkpoint_ns, checkpoint_id, parent, checkpoint::jsonb, metadata::jsonb
      from unnest($18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[])
        as c (thread_id, checkpoint_ns, checkpoint_id, parent, checkpoint, metadata)
      on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata`,
    values: [
      blobs.map(({ thread }) => thread),
      blobs.map(({ namespace }) => namespace),
      blobs.map(({ channel }) => channel),
      blobs.map(({ version }) => version),
      blobs.map(({ type }) => type),
      blobs.map(({ blob }) => bytes(blob)),
      ...[0, 1, 2].map((part) => writes.map(({ key }) => key[part])),
      writes.map(({ taskId }) => taskId),
      writes.map(({ taskPath }) => taskPath),
      writes.map(({ runId }) => runId),
      writes.map(({ replace }) => replace),
      writes.map(({ index }) => index),
      writes.map(({ channel }) => channel),
      writes.map(({ type }) => type),
      writes.map(({ blob }) => bytes(blob)),
      ...[0, 1, 2].map((part) => puts.map(({ key }) => key[part])),
      puts.map(({ parentId }) => parentId),
      puts.map(({ checkpoint }) => toField(checkpoint)),
      puts.map(({ metadata }) => fieldText(metadata)),
      blobs.map(({ base }) => base ?? null),
    ],
  });
}

export async function hasCheckpoint(db: Db, key: Key): Promise<boolean> {
  const rows = await db.query({
    name: 'checkpoint_has',
    text: 'select 1 from gx.checkpoints where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3',
    values: key,
  });
  return rows.length > 0;
}

/**
 * A stored value: its channel, its encoding, and the value itself as JSON, or as base64 where it is bytes. A list also
 * has its version and that of its base.
 */
export type StoredValue =
  | [channel: string, type: 'json' | 'bytes' | 'empty', value: unknown]
  | [channel: string, type: 'list', version: string, base: string | null];

type StoredWrite = [taskId: string, channel: string, type: 'json' | 'bytes', value: unknown];

type Versions = Record<string, string | number>;

export type StoredCheckpoint = {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  /** LangGraph's checkpoint without the values of its channels; `v` is the version of its format. */
  checkpoint: { v: number; id: string; ts: string } & { channel_versions?: Versions; versions_seen?: Record<string, Versions> };
  metadata: Record<string, unknown>;
  values: StoredValue[] | null;
  writes: StoredWrite[] | null;
  /** Comes with the first checkpoint: the rows of all lists that the reader does not know. */
  lists: StoredList[] | null;
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
  /** Lists that the reader has (`channel\nversion`); neither they nor what they are made from is read. */
  known?: string[] | undefined;
};

/** LangGraph applies what the tasks of a step wrote in this order: `writesSortKey` of its checkpointer's contract. */
const WRITES_ORDER = `order by task_path collate "C", task_id collate "C", idx`;

const VALUE = `case type when 'json' then convert_from(blob, 'UTF8')::json when 'bytes' then to_json(encode(blob, 'base64')) end`;

const LIST_KEY = 'b.thread_id, b.checkpoint_ns, b.channel, b.version, b.base, b.type';

/**
 * Returns checkpoints, newest first, each with its values and what tasks wrote on it. It takes one statement, and one
 * text to parse for each checkpoint. Lateral joins keep the planner to the primary key on the way from a list to its
 * bases.
 */
export function readCheckpoints(
  db: Db,
  { threadId, namespace, checkpointId, before, metadata, limit, known = [] }: WhichCheckpoints,
): Promise<StoredCheckpoint[]> {
  const parameters: unknown[] = [];
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['true'];
  if (threadId !== undefined) conditions.push(`c.thread_id = ${parameter(threadId)}`);
  if (namespace !== undefined) conditions.push(`c.checkpoint_ns = ${parameter(namespace)}`);
  if (checkpointId !== undefined) conditions.push(`c.checkpoint_id = ${parameter(checkpointId)}`);
  if (before !== undefined) conditions.push(`c.checkpoint_id < ${parameter(before)}`);
  if (metadata !== undefined) conditions.push(`c.metadata @> ${parameter(toField(metadata))}`);
  const given = [threadId, namespace, checkpointId, before, metadata, limit].map((value) => Number(value !== undefined));
  return db.query<StoredCheckpoint>({
    name: `checkpoint_read_${given.join('')}`,
    text: `with recursive c as materialized (
        select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata
        from gx.checkpoints c where ${conditions.join(' and ')} order by c.checkpoint_id desc
        ${limit === undefined ? '' : `limit ${parameter(limit)}`}),
      chain as (
        select ${LIST_KEY} from c, jsonb_each_text(c.checkpoint->'channel_versions') v, lateral (
          select * from gx.checkpoint_blobs b where b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
            and b.channel = v.key and b.version = v.value and b.type = 'list' limit 1) b
        where b.channel || E'\\n' || b.version <> all(${parameter(known)}::text[])
        union
        select ${LIST_KEY} from chain l, lateral (
          select * from gx.checkpoint_blobs b where b.thread_id = l.thread_id and b.checkpoint_ns = l.checkpoint_ns
            and b.channel = l.channel and b.version = l.base limit 1) b
        where b.channel || E'\\n' || b.version <> all($${parameters.length}::text[]))
      select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata,
        (select json_agg(case type when 'list' then json_build_array(channel, type, version, base) else json_build_array(channel, type, ${VALUE}) end)
          from jsonb_each_text(c.checkpoint->'channel_versions') v join gx.checkpoint_blobs b
          on b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns and b.channel = v.key and b.version = v.value) as values,
        (select json_agg(json_build_array(task_id, channel, type, ${VALUE}) ${WRITES_ORDER}) from gx.checkpoint_writes w
          where w.thread_id = c.thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id) as writes,
        case when row_number() over (order by checkpoint_id desc) = 1 then (
          select json_agg(json_build_array(l.thread_id, l.checkpoint_ns, l.channel, l.version, l.base, l.type, b.value)) from chain l, lateral (
            select convert_from(b.blob, 'UTF8')::json as value from gx.checkpoint_blobs b where b.thread_id = l.thread_id
              and b.checkpoint_ns = l.checkpoint_ns and b.channel = l.channel and b.version = l.version limit 1) b) end as lists
      from c order by checkpoint_id desc`,
    values: parameters,
  });
}
