import { Unauthorized } from '../../errors.ts';
import { openToAll, type CallerRequest } from './authenticate.ts';
import type { AgentCaller } from './caller.ts';
import { credentialOf, type ShownKey } from './credential.ts';
import type { AgentKeys } from './agent-keys.ts';

/** Schemes of the OpenAPI document of an agent that asks for a key. */
export const KEY_SCHEMES = {
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'The key of the deployment.' },
  Bearer: { type: 'http', scheme: 'bearer', description: 'The same key.' },
};

/** Returns what lets in whoever shows the key of the deployment. It throws `Unauthorized` for all others. */
export function byKey(keys: Pick<AgentKeys, 'has'>): (request: CallerRequest) => AgentCaller {
  return (request) => {
    const shown = credentialOf(request.headers);
    if (shown === undefined) throw refused("No credentials: send the deployment's key in X-Api-Key, or in Authorization: Bearer.");
    if (!keys.has(shown.text)) throw refused(notKnown(shown));
    return openToAll(request);
  };
}

const notKnown = ({ from }: ShownKey): string => `The key in ${from} is not this deployment's.`;

/** A 401 names the credentials that would help (RFC 9110, section 11.6.1). */
const refused = (message: string): Unauthorized =>
  new Unauthorized(message, { headers: { 'www-authenticate': 'ApiKey realm="agent", Bearer realm="agent"' } });
