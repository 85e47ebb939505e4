/** What a key or token lets its holder do. `write` includes reading. */
export type Role = 'read' | 'write';

/** Who calls: the tenant, the role and the name of the key or token that was sent. */
export type Caller = { tenantId: string; role: Role; keyName: string };

/** Who calls, and the signal that is aborted when the caller has left. */
export type CallContext = { caller: Caller; signal: AbortSignal };
