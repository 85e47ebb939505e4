import type { OperatorSettings } from '../../config/operator.ts';
import {
  type JoinedTenant,
  resolveNamespaceTenant,
  type Owners,
  chooseNamespaceOwners,
} from '../../schema/platform/tenancy.ts';
import type { Caches } from './caches.ts';

type Installed = Pick<OperatorSettings, 'agentNamespaces' | 'defaultTenantId'>;

/** Returns the tenants that namespaces have joined, as last seen. */
export const buildJoinedTenantLookup =
  ({ namespaces }: Pick<Caches, 'namespaces'>, settings: Installed): JoinedTenant =>
  (name) =>
    resolveNamespaceTenant({ name, labels: namespaces.get(name)?.metadata.labels }, settings);

/** Returns each namespace that belongs to somebody, with its Listener. */
export const mapNamespaceOwners = (
  caches: Pick<Caches, 'listeners' | 'namespaces'>,
  settings: Installed,
): Owners =>
  chooseNamespaceOwners(
    caches.listeners.list(),
    buildJoinedTenantLookup(caches, settings),
    settings.defaultTenantId,
  );
