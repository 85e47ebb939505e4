import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../../errors.ts';
import type { AppOptions } from '../../http/server.ts';
import { refuseUnstorable } from '../../http/storable.ts';
import { isObject } from '../../schema/json.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { underContext, type EncryptionContext } from '../kernel/encryption-context.ts';
import type { UserCode } from '../user-code/host.ts';

const HEADER = 'x-encryption-context';

/** The most bytes of a context as JSON, because it stands beside each value that is encrypted under it. */
const MOST = 2000;

type Surrounding = NonNullable<AppOptions<AgentCaller>['surrounding']>;

/**
 * Returns how the work of a request is done: under the context that its header brings, or that the module derives from
 * that and the caller. A request whose caller nobody knows has the one of its header.
 */
export const underContexts =
  (code: Pick<UserCode, 'ask' | 'module'>): Surrounding =>
  async (headers, { guard }) => {
    const brought = contextIn(headers);
    if (!code.module.derives || guard === undefined) return (work) => underContext(brought, work);
    const { metadata } = await code.ask('context', { user: guard.user, metadata: brought ?? {} });
    const context = checked(metadata, (sentence) => new Problem(500, `encryption.path: context must return ${sentence}.`));
    return (work) => underContext(context, work);
  };

/** Returns the context that a request brings. Throws a 400 for one that is none. */
function contextIn(headers: IncomingHttpHeaders): EncryptionContext | undefined {
  const given = headers[HEADER];
  if (given === undefined) return undefined;
  const refused = (sentence: string): Problem => new Problem(400, `X-Encryption-Context: It must be ${sentence}, as JSON in base64.`);
  return checked(parsed(String(given)), refused);
}

function parsed(base64: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64, 'base64').toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns the context; undefined for an empty one. */
function checked(context: unknown, refused: (sentence: string) => Problem): EncryptionContext | undefined {
  if (!isObject(context)) throw refused('an object');
  if (Buffer.byteLength(JSON.stringify(context)) > MOST) throw refused(`an object of at most ${MOST} bytes`);
  try {
    refuseUnstorable(context, 'body');
  } catch {
    throw refused('an object of values that can be stored');
  }
  return Object.keys(context).length === 0 ? undefined : context;
}
