import {
  sealBlob,
  sealMetadata,
  buildValuePlace,
  writePlace,
} from '../fields/checkpoint-fields.ts';
import { toFieldText, toField } from '../base/json-field.ts';
import { wrapParameter } from '../base/plans.ts';
import type { Db } from '../base/pool.ts';
import type { Place } from '../../encryption/codec.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';

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
export type NewValue = {
  channel: string;
  version: string;
  type: string;
  blob: Uint8Array | null;
  base?: string | undefined;
};

export type NewWrites = {
  key: Key;
  taskId: string;
  /** The place of the task among those of its step, as text; empty for writes of no task. */
  taskPath: string;
  runId: string | null;
  replace: boolean;
  writes: { index: number; channel: string; type: string; blob: Uint8Array }[];
};

const toBuffer = (value: Uint8Array | null): Buffer | null =>
  value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength);

export type Step = { put: NewCheckpoint } | { writes: NewWrites };

export type AttemptOfRun = { run_id: string; attempt: number };

/** Steps of one attempt of a run, and their context; `attempt` is undefined for those that no run makes. */
export type AttemptSteps = {
  attempt: AttemptOfRun | undefined;
  steps: Step[];
  context?: EncryptionContext | undefined;
};

const WRITES = `insert into gx.checkpoint_writes as o
  (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob)`;
/** A run's own write is gone when the run replaces it; another run's comes back when the run is rolled back. */
const BEFORE = `case when o.run_id is not distinct from excluded.run_id then o.before else jsonb_build_object(
    'run_id', o.run_id, 'channel', o.channel, 'type', o.type, 'blob', encode(o.blob, 'base64'), 'before', o.before) end`;
const WRITE_FIELDS =
  'w (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, replaces, idx, channel, type, blob)';

/** Attempts that no longer have their run, because it is back in the queue, or another attempt's, or has ended. */
const OVER = `over as materialized (select a.run_id from unnest(${wrapParameter('$25::uuid[]')}, ${wrapParameter('$26::int[]')}) as a (run_id, attempt)
    where (select r.attempt = a.attempt and r.status = 'running' from gx.run r where r.run_id = a.run_id limit 1) is false)`;
const NONE_OVER = '(select count(*) from over) = 0';

/** Writes all steps, or nothing where an attempt is over. Returns the runs of such attempts. */
const UNLESS_OVER = `with ${OVER},
    blobs as (
      insert into gx.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, base)
      select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $24::text[]) where ${NONE_OVER}
      on conflict do nothing),
    w as materialized (select * from unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::int[],
        $15::text[], $16::text[], $17::bytea[]) as ${WRITE_FIELDS} where ${NONE_OVER}),
    kept as (${WRITES} select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob from w where not replaces
      on conflict do nothing),
    replaced as (${WRITES} select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob from w where replaces
      on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
        do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob, run_id = excluded.run_id, before = ${BEFORE}),
    puts as (
      insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      select thread_id, checkpoint_ns, checkpoint_id, parent, checkpoint::jsonb, metadata::jsonb
      from unnest($18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[])
        as c (thread_id, checkpoint_ns, checkpoint_id, parent, checkpoint, metadata) where ${NONE_OVER}
      on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata)
    select run_id from over`;

/**
 * Writes the steps of several runs, or of several tasks of one run, in one statement: checkpoints with the channel
 * values that are new in them, and the writes of tasks. Errors and interrupts replace the writes in their place. Writes
 * nothing of an attempt that has lost its run, and returns those runs.
 */
export async function writeSteps(db: Db, given: AttemptSteps[]): Promise<Set<string>> {
  const lost = new Set(await writeUnlessOver(db, given));
  const others = given.filter(
    ({ attempt, steps }) =>
      steps.length > 0 && (attempt === undefined || !lost.has(attempt.run_id)),
  );
  if (lost.size === 0 || others.length === 0) return lost;
  return new Set([...lost, ...(await writeSteps(db, others))]);
}

async function writeUnlessOver(db: Db, given: AttemptSteps[]): Promise<string[]> {
  const attempts = given.flatMap(({ attempt }) => attempt ?? []);
  const steps = given.flatMap(({ steps: own, context }) => own.map((step) => ({ step, context })));
  const puts = steps.flatMap(({ step, context }) =>
    'put' in step ? [{ ...step.put, context }] : [],
  );
  const blobs = puts.flatMap(({ key: [thread, namespace], blobs: own, context }) =>
    own.map((blob) => ({ thread, namespace, context, ...blob })),
  );
  const writes = steps.flatMap(({ step, context }) =>
    'put' in step ? [] : step.writes.writes.map((write) => ({ ...step.writes, context, ...write })),
  );
  const sealed = await sealSteps(db, { blobs, writes, puts });
  const over = await db.query<{ run_id: string }>({
    name: 'checkpoint_steps',
    text: UNLESS_OVER,
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
      attempts.map(({ run_id }) => run_id),
      attempts.map(({ attempt }) => attempt),
    ],
  });
  return over.map(({ run_id }) => run_id);
}

type Under = { context?: EncryptionContext | undefined };
type NewSteps = {
  blobs: (NewValue & Under)[];
  writes: ({ taskId: string } & NewWrites['writes'][number] & Under)[];
  puts: (NewCheckpoint & Under)[];
};

async function sealSteps({ codec }: Db, { blobs, writes, puts }: NewSteps) {
  const sealBytes = async (
    { context }: Under,
    place: Place,
    value: Parameters<typeof sealBlob>[2],
  ): Promise<Buffer | null> =>
    toBuffer(await runUnderContext(context, () => sealBlob(codec, place, value)));
  const sealValue = async ({
    channel,
    version,
    type,
    blob,
    ...of
  }: NewSteps['blobs'][number]): Promise<Buffer | null> =>
    blob === null ? null : sealBytes(of, buildValuePlace(channel, version), { type, blob });
  const write = ({
    taskId,
    channel,
    type,
    blob,
    ...of
  }: NewSteps['writes'][number]): Promise<Buffer | null> =>
    sealBytes(of, writePlace(taskId, channel), { type, blob });
  const sealPutMetadata = ({ metadata, context }: NewSteps['puts'][number]): Promise<string> =>
    runUnderContext(context, () => sealMetadata(codec, toFieldText(metadata)));
  return {
    blobs: await Promise.all(blobs.map(sealValue)),
    writes: await Promise.all(writes.map(write)),
    metadata: await Promise.all(puts.map(sealPutMetadata)),
  };
}
