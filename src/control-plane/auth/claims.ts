import type { OidcConfig } from '../../config/oidc.ts';
import { Forbidden } from '../../errors.ts';
import { readClaimWords, type Claims } from '../../tokens/claims.ts';
import type { Role } from '../caller.ts';

/**
 * Who calls, before a tenant is chosen: the name of a key and its id, or the subject of a token. `expiresAt` is a time
 * in ISO form; without it the credentials have no end.
 */
export type Identity = {
  name: string;
  keyId?: string;
  tenants: string[];
  role: Role;
  expiresAt?: string | undefined;
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the tenant and role in the claims of a verified token. Throws `Forbidden` where they name none. */
export function readIdentity(claims: Claims, meaning: OidcConfig): Identity {
  const tenants = readTenants(claims, meaning.tenant);
  const roles = readClaimWords(claims, meaning.roleClaim);
  const has = (values: string[]): boolean => roles.some((role) => values.includes(role));
  const name = typeof claims.sub === 'string' ? claims.sub : '';
  const expiresAt =
    typeof claims.exp === 'number' ? new Date(claims.exp * 1000).toISOString() : undefined;
  const who = { name, tenants, ...(expiresAt !== undefined && { expiresAt }) };
  if (has(meaning.adminValues)) return { ...who, role: 'admin' };
  if (has(meaning.writeValues)) return { ...who, role: 'write' };
  if (has(meaning.readValues)) return { ...who, role: 'read' };
  throw new Forbidden(
    `The token grants no permission: its claim ${meaning.roleClaim} names no role of this API.`,
  );
}

function readTenants(claims: Claims, source: OidcConfig['tenant']): string[] {
  if ('id' in source) return [source.id];
  const tenants = readClaimWords(claims, source.claim).map((word) => word.toLowerCase());
  if (tenants.length === 0)
    throw new Forbidden(`The token names no tenant: its claim ${source.claim} is missing.`);
  if (!tenants.every((tenant) => UUID.test(tenant)))
    throw new Forbidden(`The token's claim ${source.claim} is not the id of a tenant.`);
  return tenants;
}
