import type { CipherAnswer, CipherCall } from '../../schema/wire/wall/cipher.ts';
import { getCurrentContext, type EncryptionContext } from '../kernel/encryption-context.ts';
import {
  readSealContext,
  CUSTOM,
  CUSTOM_FORM,
  isSealed,
  MAGIC,
  SEALED,
  SEALED_TEXT,
  type Codec,
  type Place,
  type RecordName,
  type Replacements,
} from './codec.ts';

/*
 * Sealing by the handlers of `encryption.path`. A sealed value names its codec, and the field that it was sealed for:
 *
 *   {"__gx_sealed__":"custom","of":"run.kwargs","json":{...}}      an object whose values the module changed; `inner`
 *                                                                  are the places of records in it that were next
 *   {"__gx_sealed__":"custom","of":"run.error","blob":"..."}       bytes that the module made, as base64
 *   {"__gx_sealed__":"custom","of":"thread.metadata","key":"..."}  the value under a key of some metadata
 *
 * One that was sealed under a context has it as `context` beside that. Sealed bytes have it before those of the module:
 *
 *   CONTEXT (1) | length of the context (4) | context, as JSON | the module's bytes; their first is below CONTEXT
 */

/** Asks the module, wherever it runs. */
export type Cipher = (call: CipherCall) => Promise<CipherAnswer>;

const CUSTOM_TEXT = `${SEALED_TEXT}${CUSTOM}"`;

const CUSTOM_BYTES = Buffer.concat([MAGIC, Buffer.of(CUSTOM_FORM)]);

const formatPlaceName = ({ kind, field }: Place): string =>
  field === undefined ? FIELDS[kind] : `${kind.slice(0, kind.indexOf('.'))}.${field}`;

const FIELDS: Record<Place['kind'], string> = {
  'run.kwargs': 'run.kwargs',
  'run.error': 'run.error',
  'thread.values': 'thread.values',
  'thread.interrupts': 'thread.interrupts',
  'event.data': 'run.events',
  'checkpoint.value': 'checkpoint.values',
  'checkpoint.write': 'checkpoint.writes',
  'checkpoint.metadata': 'checkpoint.metadata',
  'store.value': 'store.value',
  feedback: 'run.feedback',
  'cron.payload': 'cron.payload',
  'webhook.url': 'run.webhook',
  named: 'thread.metadata',
  key: 'run.key',
};

/** The fields of a sealed value that the module fills. */
const FORMS = ['json', 'inner', 'apart', 'blob', 'one'] as const;

type Sealed = { of?: string; key?: unknown; context?: EncryptionContext };

/** The first byte of sealed bytes that begin with their context. */
const CONTEXT = 3;
const LENGTH = 4;

function encodeContextHead(context: EncryptionContext | undefined): Buffer {
  if (context === undefined) return Buffer.alloc(0);
  const text = Buffer.from(JSON.stringify(context));
  const length = Buffer.alloc(LENGTH);
  length.writeUInt32BE(text.length);
  return Buffer.concat([Buffer.of(CONTEXT), length, text]);
}

function split(bytes: Buffer): { bytes: Buffer; context: EncryptionContext | undefined } {
  if (bytes[0] !== CONTEXT) return { bytes, context: undefined };
  const end = 1 + LENGTH + bytes.readUInt32BE(1);
  return {
    bytes: bytes.subarray(end),
    context: JSON.parse(bytes.subarray(1 + LENGTH, end).toString()) as EncryptionContext,
  };
}

/** Returns the context that bytes, or JSON text as bytes, were sealed under. */
export function readBytesContext(stored: Buffer): EncryptionContext | undefined {
  if (stored.subarray(0, CUSTOM_BYTES.length).equals(CUSTOM_BYTES))
    return split(stored.subarray(CUSTOM_BYTES.length)).context;
  return stored.subarray(0, CUSTOM_TEXT.length).equals(Buffer.from(CUSTOM_TEXT))
    ? readSealContext(JSON.parse(stored.toString()))
    : undefined;
}

/** Returns a codec over the module. `other` opens values that it did not seal, and seals where the module does not. */
export function buildCustomCodec(
  { cipher, encrypts }: { cipher: Cipher; encrypts: boolean },
  other: Codec,
): Codec {
  const openSealed = async (
    place: Place,
    { of = formatPlaceName(place), key, context, ...body }: Sealed,
  ): Promise<string> =>
    (await cipher({
      does: 'open',
      of,
      text: JSON.stringify(key === undefined ? body : { one: { [place.of ?? '']: key } }),
      context,
    })) as string;
  const reading: Codec = {
    ...other,
    open: async (place, stored) =>
      isSealed(stored) && stored[SEALED] === CUSTOM
        ? (JSON.parse(await openSealed(place, stored as Sealed)) as unknown)
        : other.open(place, stored),
    openText: (place, stored) =>
      stored.startsWith(CUSTOM_TEXT)
        ? openSealed(place, JSON.parse(stored) as Sealed)
        : other.openText(place, stored),
    replacements: buildReplacements(cipher),
    openBytes: async (place, stored) => {
      const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
      if (!bytes.subarray(0, CUSTOM_BYTES.length).equals(CUSTOM_BYTES))
        return other.openBytes(place, stored);
      return (await cipher({
        does: 'open',
        of: formatPlaceName(place),
        ...split(bytes.subarray(CUSTOM_BYTES.length)),
      })) as Uint8Array;
    },
  };
  return encrypts ? buildWritingCodec(cipher, reading) : reading;
}

/** Returns the values that the module wants to be stored in place of its own. */
function buildReplacements(cipher: Cipher): Replacements {
  return {
    areAsked: async () =>
      (await cipher({ does: 'replaces', of: '', text: 'null', context: undefined })) === 'true',
    value: async (place, stored) => {
      const {
        of = formatPlaceName(place),
        key,
        context,
        json,
        inner,
        apart,
        blob,
        one,
      } = stored as Sealed & Record<(typeof FORMS)[number], unknown>;
      const name = place.of ?? '';
      const text = JSON.stringify(
        key === undefined ? { json, inner, apart, blob, one } : { one: { [name]: key } },
      );
      const made = JSON.parse((await cipher({ does: 'replace', of, text, context })) as string) as {
        one?: Record<string, unknown>;
      } | null;
      if (made === null) return stored;
      return { ...stored, ...(key === undefined ? made : { key: made.one?.[name] }) };
    },
    bytes: async (place, stored) => {
      const whole = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).subarray(
        CUSTOM_BYTES.length,
      );
      const { bytes, context } = split(whole);
      const made = (await cipher({
        does: 'replace',
        of: formatPlaceName(place),
        bytes,
        context,
      })) as Uint8Array;
      return made.length === 0
        ? stored
        : Buffer.concat([CUSTOM_BYTES, encodeContextHead(context), made]);
    },
  };
}

/** Returns the codec of a pass that stores a module's replacements; undefined where there is no module. */
export const buildReplacingCodec = (codec: Codec): Codec | undefined =>
  codec.replacements && {
    ...codec,
    replaced: codec.replacements,
    isOwn: (sealed) => sealed !== CUSTOM,
    isOwnBytes: (stored) =>
      !Buffer.from(stored.subarray(0, CUSTOM_BYTES.length)).equals(CUSTOM_BYTES),
  };

/** Returns the codec that seals by the module, and opens as the other does. */
function buildWritingCodec(cipher: Cipher, reading: Codec): Codec {
  const sealKeys = async (
    of: RecordName,
    record: Record<string, unknown>,
  ): Promise<Record<string, unknown>> => {
    const context = getCurrentContext();
    const sealed = JSON.parse(
      (await cipher({ does: 'seal-keys', of, text: JSON.stringify(record), context })) as string,
    ) as typeof record;
    const beside = context === undefined ? {} : { context };
    return Object.fromEntries(
      Object.entries(sealed).map(([name, key]) => [name, { [SEALED]: CUSTOM, of, ...beside, key }]),
    );
  };
  return {
    ...reading,
    encrypts: true,
    names: new Set(),
    isOwn: (sealed) => sealed === CUSTOM,
    isOwnBytes: (stored) => {
      const [form] = stored.subarray(MAGIC.length);
      return form === CUSTOM_FORM || !MAGIC.equals(stored.subarray(0, MAGIC.length));
    },
    seal: async (place, json) => {
      const [of, context] = [formatPlaceName(place), getCurrentContext()];
      const made = (await cipher({ does: 'seal', of, text: json, context })) as string;
      return `${CUSTOM_TEXT},"of":"${of}",${context === undefined ? '' : `"context":${JSON.stringify(context)},`}${made.slice(1)}`;
    },
    sealBytes: async (place, bytes) => {
      const context = getCurrentContext();
      const made = (await cipher({
        does: 'seal',
        of: formatPlaceName(place),
        bytes,
        context,
      })) as Uint8Array;
      return Buffer.concat([CUSTOM_BYTES, encodeContextHead(context), made]);
    },
    sealKeys,
  };
}
