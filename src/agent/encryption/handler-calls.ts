import { toError, Problem, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isObject } from '../../schema/json.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import type { CipherCall, DerivedContext } from '../../schema/wire/wall/cipher.ts';
import type { EncryptionContext } from '../kernel/encryption-context.ts';
import {
  DEFAULT_HANDLER,
  type Handler,
  type CipherHandlers,
  type Word,
  readModel,
} from './handlers.ts';

/* Calls of one handler of `encryption.path`, in a thread that runs the user's own code. */

/** Fields whose objects go to `json` first, so that it may leave some keys as they are. */
export const BY_KEY = new Set([
  'run.kwargs',
  'thread.values',
  'cron.payload',
  'cron.owner',
  'store.value',
]);

/** Derives the context of a request from its caller and from the context that it brings. */
export type DeriveContext = (asked: {
  user: AuthUser;
  metadata: EncryptionContext;
}) => Promise<DerivedContext>;

/** Calls handlers one at a time for a value, each within the limit, and checks what they return. */
export class HandlerCalls {
  readonly #handlers: CipherHandlers;
  readonly #limit: { seconds: number; log: Log };

  constructor(handlers: CipherHandlers, limit: { seconds: number; log: Log }) {
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
    return json.get(readModel(of)) ?? json.get(DEFAULT_HANDLER);
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

  async #runInTime(
    name: string,
    of: string,
    call: () => unknown,
    trial?: ContextTrial,
  ): Promise<unknown> {
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
export type ValueOf = Pick<CipherCall, 'of' | 'context'> & { trial?: ContextTrial };

/** A trial has no context to give. A handler that looks for one and then throws may do all else right. */
export class ContextTrial {
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

const buildMissingHandler = (name: string, of: string): Unavailable =>
  new Unavailable(
    `A value (${of}) is encrypted by ${name}'s counterpart, and encryption.path has no ${name} for it; add that handler.`,
  );
