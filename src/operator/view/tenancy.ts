import type { OperatorSettings } from '../../config/operator.ts';
import { type JoinedTenant, joinedTenant, type Owners, ownersOf } from '../../schema/platform/tenancy.ts';
import type { Caches } from './caches.ts';

type Installed = Pick<OperatorSettings, 'agentNamespaces' | 'defaultTenantId'>;

/** Returns the tenants that namespaces have joined, as last seen. */
export const joinedIn =
  ({ namespaces }: Pick<Caches, 'namespaces'>, settings: Installed): JoinedTenant =>
  (name) =>
    joinedTenant({ name, labels: namespaces.get(name)?.metadata.labels }, settings);

/** Returns each namespace that belongs to somebody, with its Listener. */
export const ownersIn = (caches: Pick<Caches, 'listeners' | 'namespaces'>, settings: Installed): Owners =>
  ownersOf(caches.listeners.list(), joinedIn(caches, settings), settings.defaultTenantId);
