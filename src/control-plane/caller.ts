/** Roles of keys and tokens. Each includes those before it. */
export const ROLES = ['read', 'write', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const isRole = (word: string): word is Role => ROLES.some((role) => role === word);

/** Returns true if a role includes the needed one. */
export const hasRole = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** Who calls: the tenant, the role, the name of the key or the subject of the token that was sent, and the key's id. */
export type Caller = {
  tenantId: string;
  role: Role;
  keyName: string;
  keyId?: string | undefined;
  /** All tenants of the caller, and when the credentials end. */
  tenants?: readonly string[];
  expiresAt?: string | undefined;
};

export type CallContext = { caller: Caller; signal: AbortSignal };
