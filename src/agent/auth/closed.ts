import { Forbidden, Unauthorized } from '../../errors.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import { readClaimWords } from '../../tokens/claims.ts';
import type { IssuerTokens, TokenClaims } from '../../tokens/issuer-tokens.ts';
import type { AgentKeys } from './agent-keys.ts';
import { openToAll, openToUser, type CallerRequest } from './authenticate.ts';
import type { AgentCaller } from './caller.ts';
import { readCredential, type ShownKey } from '../../http/callers/shown-key.ts';
import type { TenantKeys } from '../../tokens/tenant-keys.ts';

/** Schemes of the OpenAPI document of an agent that asks for a key. */
export const KEY_SCHEMES = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'The key of the deployment.',
  },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The same key, a pass of the control plane, or a token where an issuer is configured.',
  },
};

/** The credentials that open an agent: the key of its deployment, keys of its tenant, tokens of an issuer. */
export type Openers = {
  keys: AgentKeys | undefined;
  tenantKeys: TenantKeys | undefined;
  tokens: IssuerTokens | undefined;
  /** The claim with a token's role; without it, every token may do everything. */
  roleClaim?: string | undefined;
};

/** Returns a function that lets in a caller with one of these. It throws `Unauthorized` for all others. */
export function buildCredentialAuthentication(
  openers: Openers,
): (request: CallerRequest) => Promise<AgentCaller> | AgentCaller {
  return (request) => {
    const shown = readCredential(request.headers);
    if (shown === undefined)
      throw buildUnauthorized(`No credentials: send ${describeCredentials(openers)}.`);
    return openers.keys?.has(shown.text) === true
      ? openToAll(request)
      : authenticateCredential(openers, request, shown);
  };
}

async function authenticateCredential(
  { tenantKeys, tokens, roleClaim }: Openers,
  request: CallerRequest,
  shown: ShownKey,
): Promise<AgentCaller> {
  const checked = await tenantKeys?.find(shown.text, {
    reads: isReadOnly(request),
    source: request.source,
  });
  if (checked !== undefined)
    return {
      ...openToUser(
        {
          identity: checked.subject,
          display_name: checked.name,
          is_authenticated: true,
          permissions: [checked.role],
          tenant_id: checked.tenant_id,
        },
        request,
      ),
      ...(checked.role === 'read' && { readsOnly: true }),
    };
  if (tokens !== undefined && shown.from === 'Authorization') {
    const claims = await tokens.verifyToken(shown.text);
    return {
      ...openToUser(toTokenUser(claims), request),
      ...(isForReading(claims, roleClaim) && { readsOnly: true }),
    };
  }
  throw buildUnauthorized(`The key in ${shown.from} does not open this deployment.`);
}

/** Returns true for a token that may only read. Throws `Forbidden` where it should name its role and does not. */
function isForReading(claims: TokenClaims, roleClaim: string | undefined): boolean {
  if (roleClaim === undefined) return false;
  const roles = readClaimWords(claims, roleClaim);
  if (roles.includes('write') || roles.includes('admin')) return false;
  if (roles.includes('read')) return true;
  throw new Forbidden(
    `The bearer token grants no permission: its claim ${roleClaim} names none of read, write and admin.`,
  );
}

/** Returns true for a request that changes nothing, as far as its route or else its method tells. */
const isReadOnly = ({ access, method }: CallerRequest): boolean =>
  access === undefined ? ['GET', 'HEAD'].includes(method) : access === 'read' || access === 'open';

function toTokenUser({ sub = '', ...claims }: TokenClaims): AuthUser {
  if (sub === '') throw buildUnauthorized('The bearer token has no subject.');
  const { name, scope } = claims;
  const permissions =
    typeof scope === 'string' ? scope.split(' ').filter((word) => word !== '') : [];
  return {
    identity: sub,
    display_name: typeof name === 'string' ? name : sub,
    is_authenticated: true,
    permissions,
    claims,
  };
}

const describeCredentials = ({ tenantKeys, tokens }: Openers): string =>
  [
    "the deployment's key in X-Api-Key, or in Authorization: Bearer",
    ...(tenantKeys === undefined ? [] : ['a key of its tenant']),
    ...(tokens === undefined ? [] : ['a token of the issuer in Authorization: Bearer']),
  ].join('; or ');

/** A 401 names the credentials that would help (RFC 9110, section 11.6.1). */
const buildUnauthorized = (message: string): Unauthorized =>
  new Unauthorized(message, {
    headers: { 'www-authenticate': 'ApiKey realm="agent", Bearer realm="agent"' },
  });
