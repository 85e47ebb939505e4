import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../../errors.ts';
import { isSystemName } from '../../config/agent/encryption.ts';
import type { Log } from '../../log.ts';
import type { CipherAnswer, CipherCall } from '../../schema/wire/wall/cipher.ts';
import type { Cipher } from './custom.ts';
import {
  BY_KEY,
  HandlerCalls,
  ContextTrial,
  type DeriveContext,
  type ValueOf,
} from './handler-calls.ts';
import { readHandlers, readModel } from './handlers.ts';
import {
  formatInnerName,
  listInnerRecordPaths,
  listInnerValuePaths,
  getValueAt,
  copyWithValueAt,
  type Path,
} from './inner-records.ts';
import { isObject, type Json } from '../../schema/json.ts';

/* This file turns values into their stored form and back, by the handlers of `encryption.path`. */

/** Fields of LangGraph's metadata that SQL and LangGraph itself look for. */
const OF_CHECKPOINTS = new Set(['source', 'step', 'parents', 'counters_since_delta_snapshot']);

/** The functions of a module. `derive` is absent where it has no handler for contexts. */
export type UserCipher = { cipher: Cipher; encrypts: boolean; derive: DeriveContext | undefined };

/** Returns the module's functions. Throws a `StartError` that says what it lacks. */
export function buildUserCipher(
  exported: unknown,
  options: { at: string; seconds: number; log: Log },
): UserCipher {
  const handlers = readHandlers(exported, options.at);
  const calls = new HandlerCalls(handlers, options);
  const encrypts = handlers.encrypt.blob !== undefined || handlers.encrypt.json.size > 0;
  const derive =
    handlers.context === undefined
      ? undefined
      : (asked: Parameters<DeriveContext>[0]) => calls.deriveContext(asked);
  return { encrypts, cipher: (call) => callCipher(calls, call), derive };
}

/**
 * The stored form of a value: an object by key, bytes, or a value that stands under the one key of an object. `inner`
 * are the places of records within an object by key that were encrypted after it, and `apart` those of values in it
 * that have a stored form of their own.
 */
type Body = { json?: object; inner?: Path[]; apart?: Path[]; blob?: string; one?: object };

async function callCipher(calls: HandlerCalls, call: CipherCall): Promise<CipherAnswer> {
  // A module in JavaScript has no way to ask for other values.
  if (call.does === 'replaces') return 'false';
  if (call.does === 'replace') return 'bytes' in call ? new Uint8Array() : 'null';
  if ('bytes' in call)
    return call.does === 'seal' ? sealBytes(calls, call) : openBytes(calls, call);
  const value = JSON.parse(call.text) as unknown;
  if (call.does === 'try' || call.does === 'try-keys') return tryValue(calls, call, value);
  if (call.does === 'seal-keys')
    return JSON.stringify(await sealKeys(calls, call, value as object));
  if (call.does === 'seal') return JSON.stringify(await sealValue(calls, call, value));
  return openValue(calls, call, value as Body);
}

async function sealValue(calls: HandlerCalls, asked: ValueOf, value: unknown): Promise<Body> {
  const { of } = asked;
  if (calls.needsBlob(of, value))
    return {
      blob: (
        await calls.runBlobHandler('encrypt', asked, Buffer.from(JSON.stringify(value)))
      ).toString('base64'),
    };
  if (isObject(value) && BY_KEY.has(of)) return sealByKey(calls, asked, value);
  return {
    one: await calls.runJsonHandler('encrypt', asked, { [of.slice(of.indexOf('.') + 1)]: value }),
  };
}

/** Encrypts an object by key, and then those of its parts that have fields of their own and that the handler left. */
async function sealByKey(calls: HandlerCalls, asked: ValueOf, object: Json): Promise<Body> {
  let json = await calls.runJsonHandler('encrypt', asked, object);
  // A record with other keys is the handler's own form of it.
  const places = listInnerRecordPaths(asked.of, json).filter((path) =>
    hasSameKeys(getValueAt(json, path), getValueAt(object, path)),
  );
  const records = await Promise.all(
    places.map((path) =>
      calls.runJsonHandler('encrypt', buildInnerCall(asked, path), getValueAt(json, path) as Json),
    ),
  );
  const changed = places.filter(
    (path, at) => JSON.stringify(records[at]) !== JSON.stringify(getValueAt(json, path)),
  );
  for (const [at, path] of places.entries()) json = copyWithValueAt(json, path, records[at]);
  const apart = listInnerValuePaths(asked.of, json).filter(
    (path) => getValueAt(json, path) === getValueAt(object, path),
  );
  for (const path of apart)
    json = copyWithValueAt(
      json,
      path,
      await sealValue(calls, buildInnerCall(asked, path), getValueAt(json, path)),
    );
  return {
    json,
    ...(changed.length > 0 && { inner: changed }),
    ...(apart.length > 0 && { apart }),
  };
}

const buildInnerCall = (asked: ValueOf, path: Path): ValueOf => ({
  ...asked,
  of: formatInnerName(asked.of, path),
});

const hasSameKeys = (one: unknown, other: unknown): boolean =>
  isObject(one) &&
  isObject(other) &&
  Object.keys(one).toSorted().join('\n') === Object.keys(other).toSorted().join('\n');

async function openByKey(
  calls: HandlerCalls,
  asked: ValueOf,
  { json = {}, inner: places = [], apart = [] }: Body,
): Promise<Json> {
  const [records, values] = await Promise.all([
    Promise.all(
      places.map((path) =>
        calls.runJsonHandler(
          'decrypt',
          buildInnerCall(asked, path),
          getValueAt(json, path) as Json,
        ),
      ),
    ),
    Promise.all(
      apart.map(
        async (path) =>
          JSON.parse(
            await openValue(calls, buildInnerCall(asked, path), getValueAt(json, path) as Body),
          ) as unknown,
      ),
    ),
  ]);
  let object: object = json;
  for (const [at, path] of places.entries()) object = copyWithValueAt(object, path, records[at]);
  for (const [at, path] of apart.entries()) object = copyWithValueAt(object, path, values[at]);
  return calls.runJsonHandler('decrypt', asked, object);
}

async function openValue(
  calls: HandlerCalls,
  asked: ValueOf,
  { blob, one, ...object }: Body,
): Promise<string> {
  if (blob !== undefined)
    return requireJson(
      (await calls.runBlobHandler('decrypt', asked, Buffer.from(blob, 'base64'))).toString(),
      asked.of,
    );
  if (one !== undefined)
    return JSON.stringify(Object.values(await calls.runJsonHandler('decrypt', asked, one))[0]);
  return JSON.stringify(await openByKey(calls, asked, object));
}

function requireJson(text: string, of: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new Problem(
      500,
      `encryption.path: decrypt.blob returned something else for ${of} than encrypt.blob was given.`,
      {
        cause: error,
      },
    );
  }
}

type BytesCall = Extract<CipherCall, { bytes: Uint8Array }>;

/** The first byte of sealed bytes: made by `blob`, or JSON that `json` made of their base64. */
const BY_BLOB = 1;
const BY_JSON = 2;

async function sealBytes(calls: HandlerCalls, { bytes, ...asked }: BytesCall): Promise<Uint8Array> {
  if (calls.needsBlob(asked.of, undefined))
    return Buffer.concat([Buffer.of(BY_BLOB), await calls.runBlobHandler('encrypt', asked, bytes)]);
  const text = Buffer.from(bytes).toString('base64');
  return Buffer.concat([
    Buffer.of(BY_JSON),
    Buffer.from(JSON.stringify(await sealValue(calls, asked, text))),
  ]);
}

async function openBytes(calls: HandlerCalls, { bytes, ...asked }: BytesCall): Promise<Uint8Array> {
  const body = bytes.subarray(1);
  if (bytes[0] === BY_BLOB) return calls.runBlobHandler('decrypt', asked, body);
  const text = await openValue(calls, asked, JSON.parse(Buffer.from(body).toString()) as Body);
  return Buffer.from(JSON.parse(text) as string, 'base64');
}

/** Returns the values of the keys that the handler changed. It does not see those that the server searches by. */
async function sealKeys(
  calls: HandlerCalls,
  asked: ValueOf,
  record: object,
): Promise<Record<string, unknown>> {
  const { of } = asked;
  const isOurs = (name: string): boolean =>
    isSystemName(name) || (readModel(of) === 'checkpoint' && OF_CHECKPOINTS.has(name));
  const shown = Object.fromEntries(
    Object.entries(record).filter(([name, value]) => value !== null && !isOurs(name)),
  );
  if (Object.keys(shown).length === 0 || !calls.canEncryptByKey(of)) return {};
  const made = await calls.runJsonHandler('encrypt', asked, shown);
  const toJson = (value: unknown): string => JSON.stringify(value);
  return Object.fromEntries(
    Object.entries(made).filter(([name, value]) => toJson(value) !== toJson(shown[name])),
  );
}

/**
 * Encrypts a value and decrypts it again. Throws where that fails, or gives another value, unless a handler wants the
 * context that a trial has not.
 */
async function tryValue(
  calls: HandlerCalls,
  { does, of }: CipherCall,
  value: unknown,
): Promise<'true'> {
  const asked = { of, context: undefined, trial: new ContextTrial() };
  const isSame = async (): Promise<boolean> => {
    if (does === 'try')
      return isDeepStrictEqual(
        JSON.parse(await openValue(calls, asked, toStored(await sealValue(calls, asked, value)))),
        value,
      );
    const keys = Object.entries(toStored(await sealKeys(calls, asked, value as Json)));
    const again = keys.map(async ([name, part]) => [
      name,
      JSON.parse(await openValue(calls, asked, { one: { [name]: part } })) as unknown,
    ]);
    return isDeepStrictEqual(
      {
        ...(value as Json),
        ...Object.fromEntries((await Promise.all(again)) as [string, unknown][]),
      },
      value,
    );
  };
  try {
    if (await isSame()) return 'true';
  } catch (thrown) {
    if (asked.trial.needsContext) return 'true';
    throw thrown;
  }
  throw new Problem(
    500,
    `encryption.path: decrypt did not return the value that encrypt was given for ${of}.`,
  );
}

/** Returns a value as the database gives it back. */
const toStored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
