import type { KnownDeployment } from '../../src/gateway/known-deployments.ts';

/** The key that opens it. */
export const KEY_OF_KNOWN = `gxa_${'k'.repeat(43)}`;

/** Returns a deployment that sleeps, as a gateway knows it, with these fields of its own. */
export const knownDeployment = (fields: Partial<KnownDeployment> = {}): KnownDeployment => ({
  key: 'team/chat',
  namespace: 'team',
  name: 'chat',
  uid: 'u',
  id: 'u',
  port: 1,
  asleepSince: 'now',
  isOpen: false,
  auth: undefined,
  isOpenedBy: (shown) => shown === KEY_OF_KNOWN,
  ...fields,
});
