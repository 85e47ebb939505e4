import { sealBlob, sealMetadata, valuePlace, writePlace } from './checkpoint-fields.ts';
import { fieldText, toField } from './json-field.ts';
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
  const sealed = await sealedSteps(db, { blobs, writes, puts });
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
      sealed.blobs,
      ...[0, 1, 2].map((part) => writes.map(({ key }) => key[part])),
      writes.map(({ taskId }) => taskId),
      writes.map(({ taskPath }) => taskPath),
      writes.map(({ runId }) => runId),
      writes.map(({ replace }) => replace),
      writes.map(({ index }) => index),
      writes.map(({ channel }) => channel),
      writes.map(({ type }) => type),
      sealed.writes,
      ...[0, 1, 2].map((part) => puts.map(({ key }) => key[part])),
      puts.map(({ parentId }) => parentId),
      puts.map(({ checkpoint }) => toField(checkpoint)),
      sealed.metadata,
      blobs.map(({ base }) => base ?? null),
    ],
  });
}

type Written = {
  blobs: NewValue[];
  writes: (Pick<NewWrites, 'taskId'> & NewWrites['writes'][number])[];
  puts: NewCheckpoint[];
};

/** Returns what the columns of values, writes and metadata get. */
async function sealedSteps({ codec }: Db, { blobs, writes, puts }: Written) {
  const value = async ({ channel, version, type, blob }: NewValue): Promise<Buffer | null> =>
    blob === null ? null : bytes(await sealBlob(codec, valuePlace(channel, version), { type, blob }));
  const write = async ({ taskId, channel, type, blob }: Written['writes'][number]): Promise<Buffer | null> =>
    bytes(await sealBlob(codec, writePlace(taskId, channel), { type, blob }));
  return {
    blobs: await Promise.all(blobs.map(value)),
    writes: await Promise.all(writes.map(write)),
    metadata: await Promise.all(puts.map(({ metadata }) => sealMetadata(codec, fieldText(metadata)))),
  };
}
