import type { CipherAnswer, CipherCall } from '../../schema/wire/wall/cipher.ts';
import { CUSTOM, CUSTOM_FORM, isSealed, MAGIC, SEALED, SEALED_TEXT, type Codec, type Place, type RecordName } from './codec.ts';

/*
 * Sealing by the handlers of `encryption.path`. A sealed value names its codec, and the field that it was sealed for:
 *
 *   {"__gx_sealed__":"custom","of":"run.kwargs","json":{...}}      an object whose values the module changed
 *   {"__gx_sealed__":"custom","of":"run.error","blob":"..."}       bytes that the module made, as base64
 *   {"__gx_sealed__":"custom","of":"thread.metadata","key":"..."}  the value under a key of some metadata
 */

/** Asks the module, wherever it runs. */
export type Cipher = (call: CipherCall) => Promise<CipherAnswer>;

const CUSTOM_TEXT = `${SEALED_TEXT}${CUSTOM}"`;

const CUSTOM_BYTES = Buffer.concat([MAGIC, Buffer.of(CUSTOM_FORM)]);

const ofPlace = ({ kind, field }: Place): string => (field === undefined ? FIELDS[kind] : `${kind.slice(0, kind.indexOf('.'))}.${field}`);

/** The field of a value, as handlers get it. */
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

type Sealed = { of?: string; key?: unknown };

/** Returns a codec over the module. `other` opens values that it did not seal, and seals where the module does not. */
export function customCodec({ cipher, encrypts }: { cipher: Cipher; encrypts: boolean }, other: Codec): Codec {
  const text = async (does: 'seal' | 'open' | 'seal-keys', of: string, value: string): Promise<string> =>
    (await cipher({ does, of, text: value })) as string;
  const opened = async (place: Place, { of = ofPlace(place), key, ...body }: Sealed): Promise<string> =>
    text('open', of, JSON.stringify(key === undefined ? body : { one: { [place.of ?? '']: key } }));
  const reading: Codec = {
    ...other,
    open: async (place, stored) =>
      isSealed(stored) && stored[SEALED] === CUSTOM
        ? (JSON.parse(await opened(place, stored as Sealed)) as unknown)
        : other.open(place, stored),
    openText: (place, stored) =>
      stored.startsWith(CUSTOM_TEXT) ? opened(place, JSON.parse(stored) as Sealed) : other.openText(place, stored),
    openBytes: async (place, stored) => {
      const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
      if (!bytes.subarray(0, CUSTOM_BYTES.length).equals(CUSTOM_BYTES)) return other.openBytes(place, stored);
      return (await cipher({ does: 'open', of: ofPlace(place), bytes: bytes.subarray(CUSTOM_BYTES.length) })) as Uint8Array;
    },
  };
  if (!encrypts) return reading;
  const sealKeys = async (of: RecordName, record: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const sealed = JSON.parse(await text('seal-keys', of, JSON.stringify(record))) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(sealed).map(([name, key]) => [name, { [SEALED]: CUSTOM, of, key }]));
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
      const of = ofPlace(place);
      return `${CUSTOM_TEXT},"of":"${of}",${(await text('seal', of, json)).slice(1)}`;
    },
    sealBytes: async (place, bytes) =>
      Buffer.concat([CUSTOM_BYTES, (await cipher({ does: 'seal', of: ofPlace(place), bytes })) as Uint8Array]),
    sealKeys,
  };
}
