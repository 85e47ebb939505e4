import {
  openNamed,
  PLAIN,
  SEALED_TEXT,
  sealNamed,
  type Codec,
  type Place,
} from '../../encryption/codec.ts';

/*
 * The encrypted parts of checkpoints: the values of their channels and the writes of tasks, each alone, and named
 * fields of their metadata. Sealed JSON is JSON, so SQL that moves values about, into packs or to copies of threads,
 * need not know. Places hold nothing that differs in a copy.
 */

/** A value by its encoding: JSON, bytes as base64, or nothing. */
type Encoded = { type: string; value: unknown };

export const buildValuePlace = (channel: string, version: string): Place => ({
  kind: 'checkpoint.value',
  of: `${channel}\n${version}`,
});

export const writePlace = (taskId: string, channel: string): Place => ({
  kind: 'checkpoint.write',
  of: `${taskId}\n${channel}`,
});

/** The beginning of the type of a list's row whose elements are bytes, before the type of the elements. */
export const LIST_IN_BYTES = 'list:';

export type ListInBytes = `list:${string}`;

export const isListInBytes = (type: string): type is ListInBytes => type.startsWith(LIST_IN_BYTES);

const isJson = (type: string): boolean => type === 'json' || type === 'list';

/** Returns the bytes that the column of a value gets. */
export async function sealBlob(
  codec: Codec,
  place: Place,
  { type, blob }: { type: string; blob: Uint8Array },
): Promise<Uint8Array> {
  if (!codec.encrypts) return blob;
  return isJson(type)
    ? Buffer.from(await codec.seal(place, Buffer.from(blob).toString()))
    : codec.sealBytes(place, blob);
}

/** Returns a value as it was before `sealBlob`. */
export async function openEncoded(
  codec: Codec,
  place: Place,
  { type, value }: Encoded,
): Promise<unknown> {
  if (isJson(type)) return codec.open(place, value);
  if (type === 'empty') return value;
  return Buffer.from(await codec.openBytes(place, Buffer.from(value as string, 'base64'))).toString(
    'base64',
  );
}

/** Returns the JSON text that the column of metadata gets. */
export async function sealMetadata(codec: Codec, json: string): Promise<string> {
  const asIs =
    codec.names.size === 0 && codec.sealKeys === undefined && !json.includes(SEALED_TEXT.slice(1));
  if (codec === PLAIN || asIs) return json;
  return JSON.stringify(await sealNamed(codec, 'checkpoint.metadata', JSON.parse(json)));
}

type Opened = {
  checkpoint: { channel_versions?: Record<string, string | number> };
  metadata: Record<string, unknown>;
  values: [channel: string, type: string, value: unknown, base?: string | null][] | null;
  writes: [taskId: string, channel: string, type: string, value: unknown][] | null;
  lists:
    | [
        thread: string,
        namespace: string,
        channel: string,
        version: string,
        base: string | null,
        value: unknown,
        type: string,
      ][]
    | null;
};

/** Opens rows of checkpoints, in place. */
export async function openCheckpoints<R extends object>(codec: Codec, rows: R[]): Promise<R[]> {
  if (codec === PLAIN) return rows;
  await Promise.all(rows.map((row) => openCheckpoint(codec, row as Opened)));
  return rows;
}

async function openCheckpoint(codec: Codec, row: Opened): Promise<void> {
  const versions = row.checkpoint.channel_versions ?? {};
  row.metadata = await openNamed(codec, row.metadata);
  for (const one of row.values ?? []) {
    const [channel, type, value] = one;
    // A list has its version in the place of a value, which comes with the lists.
    if (type !== 'list' && !isListInBytes(type))
      one[2] = await openEncoded(codec, buildValuePlace(channel, String(versions[channel])), {
        type,
        value,
      });
  }
  for (const one of row.writes ?? []) {
    const [taskId, channel, type, value] = one;
    one[3] = await openEncoded(codec, writePlace(taskId, channel), { type, value });
  }
  for (const one of row.lists ?? []) {
    const [, , channel, version, , value, type] = one;
    one[5] = await openEncoded(codec, buildValuePlace(channel, version), { type, value });
  }
}
