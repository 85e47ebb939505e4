import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../../errors.ts';
import { refuseUnstorable } from '../../http/bodies/storable.ts';
import type { AppOptions } from '../../http/server/server.ts';
import { isObject, parseJsonOr } from '../../schema/json.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { runUnderContext, type EncryptionContext } from '../kernel/encryption-context.ts';
import type { UserCode } from '../user-code/host.ts';

/* The header by which a request names the context that its values are encrypted under. */

const HEADER = 'x-encryption-context';

/** The most bytes of a context as JSON, because it stands beside each value that is encrypted under it. */
const MAX_CONTEXT_BYTES = 2000;

/**
 * Returns how the work of a request is done: under the context that its header brings, or that the module derives from
 * that and the caller. A request whose caller nobody knows has the one of its header.
 */
export const buildContextSurrounding =
  (code: UserCode): NonNullable<AppOptions<AgentCaller>['surrounding']> =>
  async (headers, { guard }) => {
    const brought = readContext(headers);
    if (!code.module.derives || guard === undefined)
      return (work) => runUnderContext(brought, work);
    const { metadata } = await code.ask('context', { user: guard.user, metadata: brought ?? {} });
    const context = checkContext(
      metadata,
      (sentence) => new Problem(500, `encryption.path: context must return ${sentence}.`),
    );
    return (work) => runUnderContext(context, work);
  };

/** Returns the context that a request brings. Throws a 400 for one that is none. */
function readContext(headers: IncomingHttpHeaders): EncryptionContext | undefined {
  const given = headers[HEADER];
  if (given === undefined) return undefined;
  const buildContextProblem = (sentence: string): Problem =>
    new Problem(400, `X-Encryption-Context: It must be ${sentence}, as JSON in base64.`);
  return checkContext(
    parseJsonOr(Buffer.from(String(given), 'base64').toString(), undefined),
    buildContextProblem,
  );
}

function checkContext(
  context: unknown,
  refused: (sentence: string) => Problem,
): EncryptionContext | undefined {
  if (!isObject(context)) throw refused('an object');
  if (Buffer.byteLength(JSON.stringify(context)) > MAX_CONTEXT_BYTES)
    throw refused(`an object of at most ${MAX_CONTEXT_BYTES} bytes`);
  try {
    refuseUnstorable(context, 'body');
  } catch {
    throw refused('an object of values that can be stored');
  }
  return Object.keys(context).length === 0 ? undefined : context;
}
