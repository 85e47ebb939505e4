import type { IncomingHttpHeaders } from 'node:http';
import { Unauthorized } from '../../errors.ts';
import { readCredential } from '../../http/callers/shown-key.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import { isAgentPass, type PassWords } from '../../schema/wire/agent-pass.ts';
import { verifySignedPass } from '../../tokens/agent-pass.ts';
import { openToAll, type CallerRequest } from './authenticate.ts';
import type { AgentCaller } from './caller.ts';

/** Seconds by which the clocks of nodes may differ. */
const SKEW = 30;

/** How passes are checked. `deploymentId`: undefined where the server does not know it; then its key alone tells. */
export type PassRules = {
  /** Returns the keys that sign passes for this deployment: the present one, and during a rotation the former. */
  keys: () => Uint8Array[];
  deploymentId: string | undefined;
  /** Returns milliseconds since 1970. */
  now?: () => number;
};

type Identifies = (request: CallerRequest) => Promise<AgentCaller> | AgentCaller;
/**
 * Returns a function that lets in callers with a pass, and leaves those without to `others`. It throws `Unauthorized`
 * for a pass that is not valid. Streams that a pass has opened end with it; the console opens them again with the next.
 */
export function buildPassAuthentication(
  rules: PassRules,
  others: Identifies,
  as: (user: AuthUser, request: CallerRequest) => AgentCaller,
): Identifies {
  return (request) => {
    const shown = readPass(request.headers);
    if (shown === undefined) return others(request);
    const words = verifyPass(shown, rules);
    return {
      ...as(
        {
          identity: words.subject,
          display_name: words.name,
          is_authenticated: true,
          permissions: [words.role],
          // `isStudioUser` of the SDKs knows such a user by its kind.
          kind: 'StudioUser',
        },
        request,
      ),
      byPass: true,
      ...(!['write', 'admin'].includes(words.role) && { readsOnly: true }),
    };
  };
}

/** Returns a caller of a place that is open to all, where one with a pass only looks, too. */
export const openToLook = (
  headers: IncomingHttpHeaders,
  from: { source: string },
): AgentCaller => ({
  ...openToAll(from),
  ...(hasPass(headers) && { byPass: true }),
});

/** Returns whether a request has a pass. It is not checked here. */
export const hasPass = (headers: IncomingHttpHeaders): boolean => readPass(headers) !== undefined;

function readPass(headers: IncomingHttpHeaders): string | undefined {
  const shown = readCredential(headers);
  return shown?.from === 'Authorization' && isAgentPass(shown.text) ? shown.text : undefined;
}

function verifyPass(shown: string, { keys, deploymentId, now = Date.now }: PassRules): PassWords {
  const words = verifySignedPass(shown, keys());
  const isOwn =
    words !== undefined && (deploymentId === undefined || words.deployment === deploymentId);
  if (!isOwn) throw buildUnauthorized('The pass does not open this deployment.');
  if (words.exp + SKEW < now() / 1000) throw buildUnauthorized('The pass has expired.');
  return words;
}

/** A 401 says the same in its challenge (RFC 6750, section 3). */
const buildUnauthorized = (text: string): Unauthorized =>
  new Unauthorized(text, {
    headers: {
      'www-authenticate': `Bearer realm="agent", error="invalid_token", error_description="${text}"`,
    },
  });
