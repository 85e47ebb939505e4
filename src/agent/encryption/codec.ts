import { Rejected } from '../../errors.ts';
import { type Json, isComposite, isObject } from '../../schema/json.ts';
import type { EncryptionContext } from '../kernel/encryption-context.ts';

/*
 * The one door between a value and its stored form in the database. Without a key a value is stored as it is.
 *
 * A sealed value is JSON itself: an object with one field, SEALED. So it stands wherever JSON stands, in columns of
 * type `jsonb`, `json` and `text`, in the bytes of a checkpoint, or under a key of some metadata.
 */

/** The field that a sealed value has instead of its own. */
export const SEALED = '__gx_sealed__';

/**
 * The kind of a value, and its owner, where its reader knows that: both are authenticated, so that a value moved to
 * another place can't be opened there.
 */
export type Place = {
  kind: SealedKind;
  of?: string | undefined;
  /** Replaces the kind's field in the context that a module gets. */ field?: string;
};

/** The records whose keys stay readable, so that SQL finds them: the kind of record, and the field. */
export type RecordName =
  | 'assistant.config'
  | 'assistant.configurable'
  | 'assistant.context'
  | 'assistant.metadata'
  | 'thread.metadata'
  | 'run.metadata'
  | 'run.feedback_metadata'
  | 'cron.metadata'
  | 'checkpoint.metadata';

export type SealedKind =
  | 'run.kwargs'
  | 'run.error'
  | 'thread.values'
  | 'thread.interrupts'
  | 'event.data'
  | 'checkpoint.value'
  | 'checkpoint.write'
  | 'checkpoint.metadata'
  | 'store.value'
  | 'feedback'
  | 'cron.payload'
  | 'webhook.url'
  | 'named'
  | 'key';

export type Codec = {
  readonly encrypts: boolean;
  /** True where a value that is not encrypted is refused. */
  readonly strict?: boolean;
  /** Names of fields that are encrypted in metadata, config and context, at any depth. */
  readonly names: ReadonlySet<string>;
  /** Returns JSON text as it is stored, which is JSON text, too. */
  seal(place: Place, json: string): Promise<string>;
  /** Returns the value that a stored value, as it was parsed, stands for. */
  open(place: Place, stored: unknown): Promise<unknown>;
  openText(place: Place, stored: string): Promise<string>;
  sealBytes(place: Place, bytes: Uint8Array): Promise<Uint8Array>;
  openBytes(place: Place, stored: Uint8Array): Promise<Uint8Array>;
  /** Returns whether the value under `SEALED` was sealed by the current key or module. Unsealed bytes count, too. */
  isOwn(sealed: string): boolean;
  isOwnBytes(stored: Uint8Array): boolean;
  /** Returns the values to store under the keys of a record that a module encrypts. Absent where names alone decide. */
  sealKeys?: (of: RecordName, record: Record<string, unknown>) => Promise<Record<string, unknown>>;
  /** Present where a module may want other values to be stored in place of those that it decrypts. */
  replacements?: Replacements;
  /** Present in a pass that replaces such values: each gets another stored form, or keeps its own. */
  replaced?: Pick<Replacements, 'value' | 'bytes'>;
};

/** The values that a module wants in place of stored ones. A value that stays is returned as the same object. */
export type Replacements = {
  /** Returns whether reads have asked for any since the last call. */
  areAsked(): Promise<boolean>;
  value(place: Place, stored: Record<string, unknown>): Promise<unknown>;
  bytes(place: Place, stored: Uint8Array): Promise<Uint8Array>;
};

export const RESERVED = `${SEALED}: The server itself uses this name.`;

export const PLAIN: Codec = {
  encrypts: false,
  names: new Set(),
  seal: (_, json) => Promise.resolve(json),
  open: (_, stored) => Promise.resolve(stored),
  openText: (_, stored) => Promise.resolve(stored),
  sealBytes: (_, bytes) => Promise.resolve(bytes),
  openBytes: (_, stored) => Promise.resolve(stored),
  isOwn: () => true,
  isOwnBytes: () => true,
};

/** The value under `SEALED` where a module sealed it; a key writes base64 there. */
export const CUSTOM = 'custom';

/** The form of bytes that a module sealed; a key writes 1 or 2. */
export const CUSTOM_FORM = 3;

export const SEALED_TEXT = `{"${SEALED}":"`;

/** The beginning of sealed bytes, so that they are distinguished from bytes of the time before encryption. */
export const MAGIC = Buffer.from('\u0000gx-sealed\u0000');

/** Returns the context that a parsed value was sealed under; undefined where it has none, or is not sealed. */
export const readSealContext = (stored: unknown): EncryptionContext | undefined =>
  isSealed(stored) ? (stored as { context?: EncryptionContext }).context : undefined;

/** Says whether a parsed value is sealed. */
export const isSealed = (value: unknown): value is Record<typeof SEALED, string> =>
  isComposite(value) && typeof value[SEALED] === 'string';

/** Returns metadata, a config or a context as it is stored: values under the codec's names are sealed. */
export async function sealNamed<T>(codec: Codec, of: RecordName, record: T): Promise<T> {
  if (codec === PLAIN || !isComposite(record)) return record;
  if (codec.sealKeys !== undefined && !Array.isArray(record))
    return sealByKey(codec.sealKeys, of, record);
  if (isSealed(record)) throw new Rejected(RESERVED);
  if (codec.names.size === 0 && !hasSealed(record)) return record;
  return mapEntries(record, async (name, value) => {
    if (value === null || value === undefined) return value;
    if (codec.names.has(name))
      return JSON.parse(
        await codec.seal({ kind: 'named', of: name }, JSON.stringify(value)),
      ) as unknown;
    return sealNamed(codec, of, value);
  });
}

/** The records within a config: the server looks into `configurable`, and both are copied to where each is a record. */
const INNER: Record<string, RecordName> = {
  configurable: 'assistant.configurable',
  metadata: 'assistant.metadata',
};

async function sealByKey<T extends Json>(
  sealKeys: NonNullable<Codec['sealKeys']>,
  of: RecordName,
  record: T,
): Promise<T> {
  if (hasSealed(record)) throw new Rejected(RESERVED);
  const sealed: Json = await sealKeys(of, record);
  if (of === 'assistant.config')
    for (const [name, kind] of Object.entries(INNER)) {
      const inner = record[name];
      if (!Object.hasOwn(sealed, name) && isObject(inner))
        sealed[name] = await sealByKey(sealKeys, kind, inner);
    }
  return { ...record, ...sealed };
}

/** Returns metadata, a config or a context as it was given, whatever names were in force then. */
export async function openNamed<T>(codec: Codec, stored: T): Promise<T> {
  const { strict = false, names } = codec;
  if (codec === PLAIN || !isComposite(stored) || !(strict || hasSealed(stored))) return stored;
  const isClosed = (name: string, value: unknown): boolean =>
    isSealed(value) || (strict && names.has(name));
  return mapEntries(stored, (name, value) =>
    isClosed(name, value)
      ? codec.open({ kind: 'named', of: name }, value)
      : openNamed(codec, value),
  );
}

const hasSealed = (value: unknown): boolean =>
  isComposite(value) && (isSealed(value) || Object.values(value).some(hasSealed));

async function mapEntries<T extends Json>(
  record: T,
  made: (name: string, value: unknown) => Promise<unknown>,
): Promise<T> {
  const entries = await Promise.all(
    Object.entries(record).map(async ([name, value]) => [name, await made(name, value)] as const),
  );
  return (
    Array.isArray(record) ? entries.map(([, value]) => value) : Object.fromEntries(entries)
  ) as T;
}

/** The content of each column of a row: `named` for metadata, a config or a context, else the place of its value. */
export type SealedColumns<R> = { [Column in keyof R]?: 'named' | ((row: R) => Place) };

/** Opens the columns of rows that may be sealed. */
export async function openRows<R extends object>(
  codec: Codec,
  rows: R[],
  columns: SealedColumns<R>,
): Promise<R[]> {
  if (codec === PLAIN) return rows;
  const openColumn = async (row: R, column: keyof R): Promise<unknown> => {
    const place = columns[column]!;
    return place === 'named' ? openNamed(codec, row[column]) : codec.open(place(row), row[column]);
  };
  const present = Object.keys(columns) as (keyof R)[];
  const isClosed = (value: unknown): boolean =>
    codec.strict === true ? value !== undefined && value !== null : isComposite(value);
  for (const row of rows)
    for (const column of present)
      if (isClosed(row[column])) row[column] = (await openColumn(row, column)) as R[keyof R];
  return rows;
}
