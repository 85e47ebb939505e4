import { StartError } from '../../errors.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import type { EncryptionContext } from '../kernel/encryption-context.ts';

/*
 * The handlers that the module of `encryption.path` exports. It encrypts bytes by `blob`, and the values of an object
 * by `json`, under the keys that it chooses. `json` is a function for all kinds of records, or an object of functions
 * by kind, where `default` stands for the others.
 */

const MODELS = ['assistant', 'thread', 'run', 'cron', 'checkpoint', 'store'] as const;
export type Model = (typeof MODELS)[number];

/** Returns the kind of record of a value's name, such as `run.kwargs`. */
export const readModel = (of: string): Model => of.slice(0, of.indexOf('.')) as Model;

/** The first argument of a handler: the kind of record, its field, and the context of the value. */
export type HandlerContext = { model: Model; field: string; metadata: EncryptionContext };

export type Handler = (context: HandlerContext, data: unknown) => unknown;
type Derive = (
  user: AuthUser,
  context: { model: undefined; field: undefined; metadata: EncryptionContext },
) => unknown;
type Direction = { blob?: Handler | undefined; json: Map<string, Handler> };
export type Word = 'encrypt' | 'decrypt';
export type CipherHandlers = Record<Word, Direction> & { context: Derive | undefined };

/** Kinds of records that have values beside metadata, config and context. */
const WITH_VALUES: readonly Model[] = ['thread', 'run', 'cron', 'checkpoint', 'store'];

/** The handler of `json` for kinds of records without their own. */
export const DEFAULT_HANDLER = 'default';

/** Returns the handlers of a module. Throws a `StartError` that says what it lacks. */
export function readHandlers(exported: unknown, at: string): CipherHandlers {
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
function refuseGaps({ encrypt, decrypt }: CipherHandlers, wrong: (what: string) => never): void {
  if (encrypt.blob !== undefined && decrypt.blob === undefined)
    wrong('has encrypt.blob without decrypt.blob');
  for (const model of encrypt.json.keys())
    if (!decrypt.json.has(model) && !decrypt.json.has(DEFAULT_HANDLER))
      wrong(`has encrypt.json of "${model}" without decrypt.json`);
  if (encrypt.blob !== undefined || encrypt.json.size === 0 || encrypt.json.has(DEFAULT_HANDLER))
    return;
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
    wrong(`has ${word}.blob, which is not a function`);
  const named = Object.entries(json as object) as [string, unknown][];
  const all =
    typeof json === 'function' ? [[DEFAULT_HANDLER, json] as [string, unknown], ...named] : named;
  for (const [model, handler] of all) {
    if (model !== DEFAULT_HANDLER && !(MODELS as readonly string[]).includes(model))
      wrong(
        `has ${word}.json of "${model}", which is none of ${MODELS.join(', ')} and ${DEFAULT_HANDLER}`,
      );
    if (typeof handler !== 'function')
      wrong(`has ${word}.json of "${model}", which is not a function`);
  }
  return { blob: blob as Handler | undefined, json: new Map(all as [string, Handler][]) };
}
