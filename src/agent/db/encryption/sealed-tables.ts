import { isComposite } from '../../../schema/json.ts';
import {
  openNamed,
  isSealed,
  sealNamed,
  SEALED,
  SEALED_TEXT,
  type Codec,
  type Place,
  type RecordName,
} from '../../encryption/codec.ts';
import { buildValuePlace, writePlace } from '../fields/checkpoint-fields.ts';
import { buildCronOwnerPlace, buildCronPayloadPlace } from '../crons/crons.ts';
import { buildEventPlace } from '../fields/event-data.ts';
import { buildFeedbackPlace } from '../runs/feedback.ts';
import { runErrorPlace, runKwargsPlace } from '../fields/run-fields.ts';
import { buildItemPlace } from '../store/store-items.ts';
import { buildThreadInterruptsPlace, buildThreadValuesPlace } from '../fields/thread-values.ts';
import { buildWebhookUrlPlace } from '../webhooks/webhooks.ts';

/* This file knows every column that holds sealed values, and seals them again with the current key. */

type Row = Record<string, unknown>;

/** Returns the new content of the column; the very same value where nothing of it is to change. */
type Reseal = (codec: Codec, stored: unknown, row: Row) => Promise<unknown>;

export type SealedTable = {
  name: string;
  /** The column with the id of the thread whose rows these are, if they are a thread's. */
  thread?: string;
  known?: string[];
  columns: Record<string, { type: 'jsonb' | 'json' | 'text' | 'bytea'; reseal: Reseal }>;
};

async function sealAgain(codec: Codec, place: Place, stored: unknown): Promise<unknown> {
  if (!isSealed(stored) || codec.isOwn(stored[SEALED])) return stored;
  const fresh =
    codec.replaced === undefined
      ? (JSON.parse(
          await codec.seal(place, JSON.stringify(await codec.open(place, stored))),
        ) as Row)
      : ((await codec.replaced.value(place, stored)) as Row);
  if (fresh === stored) return stored;
  // Claims look for this field beside the sealed value.
  return 'protocol' in stored ? { protocol: stored['protocol'], ...fresh } : fresh;
}

const buildJsonColumn = (place: (row: Row) => Place, type: 'jsonb' | 'json' = 'jsonb') => ({
  type,
  reseal: (codec: Codec, stored: unknown, row: Row) => sealAgain(codec, place(row), stored),
});

const buildTextColumn = (place: (row: Row) => Place) => ({
  type: 'text' as const,
  reseal: async (codec: Codec, stored: unknown, row: Row) => {
    if (!(stored as string).startsWith(SEALED_TEXT)) return stored;
    const parsed = JSON.parse(stored as string) as unknown;
    const fresh = await sealAgain(codec, place(row), parsed);
    return fresh === parsed ? stored : JSON.stringify(fresh);
  },
});

const isOlder = (codec: Codec, stored: unknown): boolean =>
  typeof stored === 'object' &&
  stored !== null &&
  (isSealed(stored)
    ? !codec.isOwn(stored[SEALED])
    : Object.values(stored).some((part) => isOlder(codec, part)));

const sealRecordAgain = async (codec: Codec, of: RecordName, stored: unknown): Promise<unknown> => {
  if (!isOlder(codec, stored)) return stored;
  return codec.replaced === undefined
    ? sealNamed(codec, of, await openNamed(codec, stored))
    : replaceNamed(codec, of, stored);
};

/** Replaces the values under keys of a record alone. */
async function replaceNamed(codec: Codec, name: string, stored: unknown): Promise<unknown> {
  if (isSealed(stored)) return sealAgain(codec, { kind: 'named', of: name }, stored);
  if (!isComposite(stored)) return stored;
  const parts = await Promise.all(
    Object.entries(stored).map(
      async ([key, part]) => [key, part, await replaceNamed(codec, key, part)] as const,
    ),
  );
  if (parts.every(([, part, fresh]) => part === fresh)) return stored;
  return Array.isArray(stored)
    ? parts.map(([, , fresh]) => fresh)
    : Object.fromEntries(parts.map(([key, , fresh]) => [key, fresh]));
}

const record = (of: RecordName) => ({
  type: 'jsonb' as const,
  reseal: (codec: Codec, stored: unknown) => sealRecordAgain(codec, of, stored),
});

const sealWholeAgain = async (
  codec: Codec,
  place: Place,
  stored: Uint8Array,
): Promise<Uint8Array> =>
  codec.replaced === undefined
    ? codec.sealBytes(place, await codec.openBytes(place, stored))
    : codec.replaced.bytes(place, stored);

async function sealBytesAgain(
  codec: Codec,
  place: Place,
  type: string,
  stored: Uint8Array,
): Promise<Uint8Array> {
  if (type !== 'json' && type !== 'list')
    return codec.isOwnBytes(stored) ? stored : sealWholeAgain(codec, place, stored);
  const parsed = JSON.parse(Buffer.from(stored).toString()) as unknown;
  const fresh = await sealAgain(codec, place, parsed);
  return fresh === parsed ? stored : Buffer.from(JSON.stringify(fresh));
}

const buildBytesColumn = (place: (row: Row) => Place) => ({
  type: 'bytea' as const,
  reseal: (codec: Codec, stored: unknown, row: Row) =>
    sealBytesAgain(codec, place(row), String(row['type']), stored as Uint8Array),
});

/** The write that a write replaced, and the one that it had replaced (checkpoints.ts). */
type Before = { channel: string; type: string; blob: string; before: Before | null };

async function sealBeforeAgain(
  codec: Codec,
  taskId: string,
  stored: Before | null,
): Promise<Before | null> {
  if (stored === null) return null;
  const blob = Buffer.from(stored.blob, 'base64');
  const fresh = await sealBytesAgain(codec, writePlace(taskId, stored.channel), stored.type, blob);
  const before = await sealBeforeAgain(codec, taskId, stored.before);
  return fresh === blob && before === stored.before
    ? stored
    : { ...stored, blob: Buffer.from(fresh).toString('base64'), before };
}

type PackedWrite = [
  taskId: string,
  path: string,
  run: string,
  idx: number,
  channel: string,
  type: string,
  value: unknown,
  before: Before | null,
];
type Packed = [
  id: string,
  parent: string,
  checkpoint: unknown,
  metadata: unknown,
  writes: PackedWrite[] | null,
];

async function sealWriteAgain(codec: Codec, write: PackedWrite): Promise<PackedWrite> {
  const [taskId, path, run, idx, channel, type, stored, before] = write;
  const place = writePlace(taskId, channel);
  const encoded = Buffer.from(
    type === 'json' ? JSON.stringify(stored) : (stored as string),
    type === 'json' ? 'utf8' : 'base64',
  );
  const fresh = await sealBytesAgain(codec, place, type, encoded);
  const earlier = await sealBeforeAgain(codec, taskId, before);
  if (fresh === encoded && earlier === before) return write;
  const changed: unknown =
    type === 'json'
      ? JSON.parse(Buffer.from(fresh).toString())
      : Buffer.from(fresh).toString('base64');
  return [taskId, path, run, idx, channel, type, changed, earlier];
}

async function sealPackAgain(codec: Codec, packed: Packed[]): Promise<Packed[]> {
  let changes = false;
  const all: Packed[] = [];
  for (const one of packed) {
    const [id, parent, checkpoint, metadata, writes] = one;
    const fresh = await sealRecordAgain(codec, 'checkpoint.metadata', metadata);
    const written =
      writes && (await Promise.all(writes.map((write) => sealWriteAgain(codec, write))));
    const changed =
      fresh !== metadata || (written?.some((write, at) => write !== writes![at]) ?? false);
    changes ||= changed;
    all.push(changed ? [id, parent, checkpoint, fresh, written] : one);
  }
  return changes ? all : packed;
}

async function sealMessageAgain(codec: Codec, message: Row): Promise<Row> {
  const parts = {
    kwargs: await sealAgain(codec, runKwargsPlace(getId(message, 'run_id')), message['kwargs']),
    values: await sealAgain(
      codec,
      buildThreadValuesPlace(getId(message, 'thread_id')),
      message['values'],
    ),
    error: await sealAgain(codec, runErrorPlace(getId(message, 'thread_id')), message['error']),
    metadata: await sealRecordAgain(codec, 'run.metadata', message['metadata']),
  };
  return Object.entries(parts).every(([name, part]) => part === message[name])
    ? message
    : { ...message, ...parts };
}

const getId = (row: Row, name: string): string => row[name] as string;

type Listeners = { url?: unknown; push?: Record<string, { host: string; config: unknown }> };

async function sealListenersAgain(
  codec: Codec,
  stored: Listeners | null,
  runId: string,
): Promise<unknown> {
  if (stored === null) return stored;
  const place = buildWebhookUrlPlace(runId);
  const url = await sealAgain(codec, place, stored.url);
  let changes = url !== stored.url;
  const push: NonNullable<Listeners['push']> = {};
  for (const [name, one] of Object.entries(stored.push ?? {})) {
    const config = await sealAgain(codec, place, one.config);
    changes ||= config !== one.config;
    push[name] = { ...one, config };
  }
  return changes
    ? { ...stored, ...(url !== undefined && { url }), ...(stored.push && { push }) }
    : stored;
}

async function sealPushAgain(codec: Codec, push: Row | null, threadId: string): Promise<unknown> {
  if (push === null) return push;
  const config = await sealAgain(codec, buildWebhookUrlPlace(getId(push, 'task')), push['config']);
  const questions = await sealAgain(codec, buildThreadInterruptsPlace(threadId), push['questions']);
  return config === push['config'] && questions === push['questions']
    ? push
    : { ...push, config, questions };
}

const OF_ASSISTANTS = {
  config: record('assistant.config'),
  context: record('assistant.context'),
  metadata: record('assistant.metadata'),
};

/** All tables, those first that a graph reads most. */
export const SEALED_TABLES: readonly SealedTable[] = [
  { name: 'assistant', columns: OF_ASSISTANTS },
  { name: 'assistant_version', columns: OF_ASSISTANTS },
  {
    name: 'thread',
    thread: 'thread_id',
    columns: {
      metadata: record('thread.metadata'),
      config: record('assistant.config'),
      interrupts: buildJsonColumn((row) => buildThreadInterruptsPlace(getId(row, 'thread_id'))),
      error: buildJsonColumn((row) => runErrorPlace(getId(row, 'thread_id'))),
      long_values: buildTextColumn((row) => buildThreadValuesPlace(getId(row, 'thread_id'))),
    },
  },
  {
    name: 'run',
    thread: 'thread_id',
    known: ['run_id'],
    columns: {
      kwargs: buildJsonColumn((row) => runKwargsPlace(getId(row, 'run_id'))),
      metadata: record('run.metadata'),
      error: buildJsonColumn((row) => runErrorPlace(getId(row, 'thread_id'))),
      webhook: {
        type: 'jsonb',
        reseal: (codec, stored, row) =>
          sealListenersAgain(codec, stored as Listeners, getId(row, 'run_id')),
      },
    },
  },
  {
    name: 'stream_event',
    thread: 'thread_id',
    known: ['run_id'],
    columns: { data: buildTextColumn((row) => buildEventPlace(getId(row, 'run_id'))) },
  },
  {
    name: 'checkpoints',
    thread: 'thread_id',
    columns: { metadata: record('checkpoint.metadata') },
  },
  {
    name: 'checkpoint_blobs',
    thread: 'thread_id',
    known: ['type', 'channel', 'version'],
    columns: {
      blob: buildBytesColumn((row) =>
        buildValuePlace(getId(row, 'channel'), getId(row, 'version')),
      ),
    },
  },
  {
    name: 'checkpoint_writes',
    thread: 'thread_id',
    known: ['type', 'channel', 'task_id'],
    columns: {
      blob: buildBytesColumn((row) => writePlace(getId(row, 'task_id'), getId(row, 'channel'))),
      before: {
        type: 'jsonb',
        reseal: (codec, stored, row) =>
          sealBeforeAgain(codec, getId(row, 'task_id'), stored as Before | null),
      },
    },
  },
  {
    name: 'checkpoint_packs',
    thread: 'thread_id',
    columns: {
      packed: { type: 'json', reseal: (codec, stored) => sealPackAgain(codec, stored as Packed[]) },
    },
  },
  {
    name: 'store_item',
    known: ['namespace', 'key'],
    columns: {
      value: buildJsonColumn((row) =>
        buildItemPlace({ namespace: row['namespace'] as string[], key: getId(row, 'key') }),
      ),
    },
  },
  {
    name: 'cron',
    known: ['cron_id'],
    columns: {
      payload: buildJsonColumn((row) => buildCronPayloadPlace(getId(row, 'cron_id'))),
      owner: buildJsonColumn((row) => buildCronOwnerPlace(getId(row, 'cron_id'))),
      metadata: record('cron.metadata'),
    },
  },
  {
    name: 'feedback',
    known: ['token'],
    columns: {
      value: buildJsonColumn((row) => buildFeedbackPlace(getId(row, 'token'))),
      correction: buildJsonColumn((row) => buildFeedbackPlace(getId(row, 'token'))),
      comment: buildTextColumn((row) => buildFeedbackPlace(getId(row, 'token'))),
      metadata: record('run.feedback_metadata'),
    },
  },
  {
    name: 'webhook',
    known: ['run_id'],
    columns: {
      url: buildJsonColumn((row) => buildWebhookUrlPlace(getId(row, 'run_id'))),
      message: { type: 'json', reseal: (codec, stored) => sealMessageAgain(codec, stored as Row) },
      push: {
        type: 'json',
        reseal: (codec, stored, row) =>
          sealPushAgain(codec, stored as Row | null, getId(row['message'] as Row, 'thread_id')),
      },
    },
  },
];
