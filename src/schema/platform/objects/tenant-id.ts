/**
 * Returns the tenant that a Listener names, in lower case as keys and tokens spell it, because people may write uuids
 * in capitals.
 */
export const resolveTenantId = (
  { tenantId }: { tenantId?: string | undefined },
  defaultTenantId: string,
): string => tenantId?.toLowerCase() ?? defaultTenantId;
