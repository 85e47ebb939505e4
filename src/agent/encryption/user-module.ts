import { isDeepStrictEqual } from 'node:util';
import { toError, Problem, StartError, Unavailable } from '../../errors.ts';
import { isSystemName } from '../../config/agent/encryption.ts';
import type { Log } from '../../log.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import type { CipherAnswer, CipherCall, DerivedContext } from '../../schema/wire/wall/cipher.ts';
import type { EncryptionContext } from '../kernel/encryption-context.ts';
import type { Cipher } from './custom.ts';
import {
  formatInnerName,
  listInnerRecordPaths,
  listInnerValuePaths,
  getValueAt,
  copyWithValueAt,
  type Path,
} from './inner-records.ts';
import { isObject, type Json } from '../../schema/json.ts';

/*
 * This file calls the handlers of `encryption.path`, in a thread that runs the user's own code. The module encrypts
 * bytes by `blob`, and the values of an object by `json`, under the keys that it chooses. `json` is a function for all
 * kinds of records, or an object of functions by kind, where `default` stands for the others.
 */

const MODELS = ['assistant', 'thread', 'run', 'cron', 'checkpoint', 'store'] as const;
type Model = (typeof MODELS)[number];

/** The first argument of a handler: the kind of record, its field, and the context of the value. */
type HandlerContext = { model: Model; field: string; metadata: EncryptionContext };

type Handler = (context: HandlerContext, data: unknown) => unknown;
type Derive = (
  user: AuthUser,
  context: { model: undefined; field: undefined; metadata: EncryptionContext },
) => unknown;
type Direction = { blob?: Handler | undefined; json: Map<string, Handler> };
type Word = 'encrypt' | 'decrypt';
type Handlers = Record<Word, Direction> & { context: Derive | undefined };

/** Kinds of records that have values beside metadata, config and context. */
const WITH_VALUES: readonly Model[] = ['thread', 'run', 'cron', 'checkpoint', 'store'];

/** Fields whose objects go to `json` first, so that it may leave some keys as they are. */
const BY_KEY = new Set([
  'run.kwargs',
  'thread.values',
  'cron.payload',
  'cron.owner',
  'store.value',
]);

/** Fields of LangGraph's metadata that SQL and LangGraph itself look for. */
const OF_CHECKPOINTS = new Set(['source', 'step', 'parents', 'counters_since_delta_snapshot']);

const DEFAULT = 'default';

/** Derives the context of a request from its caller and from the context that it brings. */
export type DeriveContext = (asked: {
  user: AuthUser;
  metadata: EncryptionContext;
}) => Promise<DerivedContext>;

/** The functions of a module. `derive` is absent where it has no handler for contexts. */
export type UserCipher = { cipher: Cipher; encrypts: boolean; derive: DeriveContext | undefined };

/** Returns the module's functions. Throws a `StartError` that says what it lacks. */
export function buildUserCipher(
  exported: unknown,
  options: { at: string; seconds: number; log: Log },
): UserCipher {
  const handlers = readHandlers(exported, options.at);
  const calls = new Calls(handlers, options);
  const encrypts = handlers.encrypt.blob !== undefined || handlers.encrypt.json.size > 0;
  const derive =
    handlers.context === undefined
      ? undefined
      : (asked: Parameters<DeriveContext>[0]) => calls.deriveContext(asked);
  return { encrypts, cipher: (call) => callCipher(calls, call), derive };
}

function readHandlers(exported: unknown, at: string): Handlers {
  const given = Object(exported) as Record<string, unknown>;
  const throwFault = (what: string): never => {
    throw new StartError(`encryption.path: ${at} ${what}.`);
  };
  const { context } = given;
  if (context !== undefined && typeof context !== 'function')
    throwFault('has a context that is not a function');
  const handlers = {
    encrypt: readDirection(given, 'encrypt', throwFault),
    decrypt: readDirection(given, 'decrypt', throwFault),
    context: context as Derive | undefined,
  };
  const { decrypt } = handlers;
  if (decrypt.blob === undefined && decrypt.json.size === 0)
    throwFault(
      'has no handlers: it must be an object with encrypt and decrypt, each with blob, json or both',
    );
  refuseGaps(handlers, throwFault);
  return handlers;
}

/** Refuses a module that would encrypt values it can't decrypt, or only a part of all values. */
function refuseGaps({ encrypt, decrypt }: Handlers, wrong: (what: string) => never): void {
  if (encrypt.blob !== undefined && decrypt.blob === undefined)
    wrong('has encrypt.blob without decrypt.blob');
  for (const model of encrypt.json.keys())
    if (!decrypt.json.has(model) && !decrypt.json.has(DEFAULT))
      wrong(`has encrypt.json of "${model}" without decrypt.json`);
  if (encrypt.blob !== undefined || encrypt.json.size === 0 || encrypt.json.has(DEFAULT)) return;
  const left = WITH_VALUES.filter((model) => !encrypt.json.has(model));
  if (left.length > 0)
    wrong(
      `would leave values of "${left.join('", "')}" as they are; add encrypt.blob, or encrypt.json for them`,
    );
}

function readDirection(
  given: Record<string, unknown>,
  word: Word,
  wrong: (what: string) => never,
): Direction {
  const { blob, json = {} } = Object(given[word]) as { blob?: unknown; json?: unknown };
  if (blob !== undefined && typeof blob !== 'function')
    wrong(`has ${word}.blob, which is no function`);
  const named = Object.entries(json as object) as [string, unknown][];
  const all = typeof json === 'function' ? [[DEFAULT, json] as [string, unknown], ...named] : named;
  for (const [model, handler] of all) {
    if (model !== DEFAULT && !(MODELS as readonly string[]).includes(model))
      wrong(`has ${word}.json of "${model}", which is none of ${MODELS.join(', ')} and ${DEFAULT}`);
    if (typeof handler !== 'function')
      wrong(`has ${word}.json of "${model}", which is no function`);
  }
  return { blob: blob as Handler | undefined, json: new Map(all as [string, Handler][]) };
}

/** Calls handlers one at a time for a value, each within the limit, and checks what they return. */
class Calls {
  readonly #handlers: Handlers;
  readonly #limit: { seconds: number; log: Log };

  constructor(handlers: Handlers, limit: { seconds: number; log: Log }) {
    this.#handlers = handlers;
    this.#limit = limit;
  }

  needsBlob(of: string, value: unknown): boolean {
    const { blob } = this.#handlers.encrypt;
    return (
      blob !== undefined &&
      !(BY_KEY.has(of) && isObject(value) && this.#findJsonHandler('encrypt', of) !== undefined)
    );
  }

  canEncryptByKey(of: string): boolean {
    return this.#findJsonHandler('encrypt', of) !== undefined;
  }

  async runBlobHandler(word: Word, asked: ValueOf, bytes: Uint8Array): Promise<Buffer> {
    const { blob } = this.#handlers[word];
    if (blob === undefined) throw buildMissingHandler(`${word}.blob`, asked.of);
    const made = await this.#callHandler(blob, `${word}.blob`, asked, bytes);
    if (!(made instanceof Uint8Array))
      throw new Problem(500, `encryption.path: ${word}.blob returned no bytes for ${asked.of}.`);
    return Buffer.from(made.buffer, made.byteOffset, made.byteLength);
  }

  async runJsonHandler(
    word: Word,
    asked: ValueOf,
    object: object,
  ): Promise<Record<string, unknown>> {
    const [name, { of }] = [`${word}.json`, asked];
    const handler = this.#findJsonHandler(word, of);
    if (handler === undefined) throw buildMissingHandler(name, of);
    const made = await this.#callHandler(handler, name, asked, structuredClone(object));
    if (!isObject(made))
      throw new Problem(500, `encryption.path: ${name} returned no object for ${of}.`);
    const known = new Set(Object.keys(object));
    const changed = [...Object.keys(made).filter((key) => !known.delete(key)), ...known];
    if (changed.length > 0)
      throw new Problem(
        500,
        `encryption.path: ${name} changed the keys of ${of} (${changed.join(', ')}); it may only change their values.`,
      );
    return made;
  }

  #findJsonHandler(word: Word, of: string): Handler | undefined {
    const { json } = this.#handlers[word];
    return json.get(readModel(of)) ?? json.get(DEFAULT);
  }

  async deriveContext({ user, metadata }: Parameters<DeriveContext>[0]): Promise<DerivedContext> {
    const context = { model: undefined, field: undefined, metadata: structuredClone(metadata) };
    const made = await this.#runInTime('context', 'a request', () =>
      this.#handlers.context!(user, context),
    );
    if (!isObject(made)) throw new Problem(500, 'encryption.path: context returned no object.');
    return { metadata: JSON.parse(JSON.stringify(made)) as EncryptionContext };
  }

  #callHandler(
    handler: Handler,
    name: string,
    { of, context = {}, trial }: ValueOf,
    data: unknown,
  ): Promise<unknown> {
    // A handler may change its arguments.
    const metadata = trial?.metadata ?? structuredClone(context);
    const given = { model: readModel(of), field: of.slice(of.indexOf('.') + 1), metadata };
    return this.#runInTime(name, of, () => handler(given, data), trial);
  }

  async #runInTime(name: string, of: string, call: () => unknown, trial?: Trial): Promise<unknown> {
    const { seconds, log } = this.#limit;
    const late = Promise.withResolvers<never>();
    const tooLate = new Unavailable(
      `encryption.path: ${name} did not answer within ${seconds} s for ${of}.`,
    );
    const timer = setTimeout(() => late.reject(tooLate), seconds * 1000);
    try {
      return await Promise.race([call(), late.promise]);
    } catch (thrown) {
      if (thrown === tooLate) throw tooLate;
      if (trial?.needsContext === true)
        throw new Problem(503, `encryption.path: ${name} needs a context for ${of}.`);
      // Its error may hold secrets, so clients don't get it.
      log.error({ err: toError(thrown), handler: name, of }, 'a handler of encryption.path failed');
      throw new Problem(503, `encryption.path: ${name} failed for ${of}.`);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The field of a value, and the context that it is encrypted under. `trial`: the value is not stored. */
type ValueOf = Pick<CipherCall, 'of' | 'context'> & { trial?: Trial };

/** A trial has no context to give. A handler that looks for one and then throws may do all else right. */
class Trial {
  needsContext = false;
  readonly metadata: EncryptionContext;

  constructor() {
    const markContextUse = (): void => {
      this.needsContext = true;
    };
    this.metadata = new Proxy<EncryptionContext>(
      {},
      {
        get: (target, name) => (markContextUse(), Reflect.get(target, name) as unknown),
        has: (target, name) => (markContextUse(), Reflect.has(target, name)),
        ownKeys: (target) => (markContextUse(), Reflect.ownKeys(target)),
      },
    );
  }
}

const readModel = (of: string): Model => of.slice(0, of.indexOf('.')) as Model;

const buildMissingHandler = (name: string, of: string): Unavailable =>
  new Unavailable(
    `A value (${of}) is encrypted by ${name}'s counterpart, and encryption.path has no ${name} for it; add that handler.`,
  );

/**
 * The stored form of a value: an object by key, bytes, or a value that stands under the one key of an object. `inner`
 * are the places of records within an object by key that were encrypted after it, and `apart` those of values in it
 * that have a stored form of their own.
 */
type Body = { json?: object; inner?: Path[]; apart?: Path[]; blob?: string; one?: object };

async function callCipher(calls: Calls, call: CipherCall): Promise<CipherAnswer> {
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

async function sealValue(calls: Calls, asked: ValueOf, value: unknown): Promise<Body> {
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
async function sealByKey(calls: Calls, asked: ValueOf, object: Json): Promise<Body> {
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
  calls: Calls,
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
  calls: Calls,
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

async function sealBytes(calls: Calls, { bytes, ...asked }: BytesCall): Promise<Uint8Array> {
  if (calls.needsBlob(asked.of, undefined))
    return Buffer.concat([Buffer.of(BY_BLOB), await calls.runBlobHandler('encrypt', asked, bytes)]);
  const text = Buffer.from(bytes).toString('base64');
  return Buffer.concat([
    Buffer.of(BY_JSON),
    Buffer.from(JSON.stringify(await sealValue(calls, asked, text))),
  ]);
}

async function openBytes(calls: Calls, { bytes, ...asked }: BytesCall): Promise<Uint8Array> {
  const body = bytes.subarray(1);
  if (bytes[0] === BY_BLOB) return calls.runBlobHandler('decrypt', asked, body);
  const text = await openValue(calls, asked, JSON.parse(Buffer.from(body).toString()) as Body);
  return Buffer.from(JSON.parse(text) as string, 'base64');
}

/** Returns the values of the keys that the handler changed. It does not see those that the server searches by. */
async function sealKeys(
  calls: Calls,
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
async function tryValue(calls: Calls, { does, of }: CipherCall, value: unknown): Promise<'true'> {
  const asked = { of, context: undefined, trial: new Trial() };
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
