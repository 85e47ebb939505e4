import { isObject } from '../schema/json.ts';

export type Claims = Record<string, unknown>;

/** Reads a claim that is a list, or one text of words as `scope` is. */
export function readClaimWords(claims: Claims, name: string): string[] {
  const value = findClaim(claims, name);
  const texts = Array.isArray(value) ? value : typeof value === 'string' ? value.split(' ') : [];
  return texts.filter((text) => typeof text === 'string' && text !== '') as string[];
}

/** Finds a claim by its whole name (`https://acme.example/tenant`), else by a path of names (`realm_access.roles`). */
function findClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split('.'))
    value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return value;
}
