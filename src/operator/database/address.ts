import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/**
 * Where pods read the database's address: a key of a Secret, and the version of that Secret. If the database serves TLS
 * with a certificate of the platform, `authority` is the Secret with the authority's certificate.
 */
type AddressInSecret = { secretName: string; key: string; version?: string; authority?: string };

/** Where pods read the database's address: a Secret of its own, or the secrets of their revision. */
export type DatabaseAddress = AddressInSecret | { inSecrets: true };

/**
 * Returns the address that the status of a deployment reports, under this key of its Secret. Undefined until there is
 * one.
 */
export function getDatabaseAddress(
  { status }: DeploymentResource,
  key: string,
  authority?: string,
): AddressInSecret | undefined {
  if (status?.databaseSecret === undefined) return undefined;
  return {
    secretName: status.databaseSecret,
    key,
    ...(status.databaseSecretVersion !== undefined && { version: status.databaseSecretVersion }),
    ...(authority !== undefined && { authority }),
  };
}

/** Returns true if servers wait for the database there when they start: a managed one, which may start beside them. */
export const isWaitedFor = (address: DatabaseAddress): boolean =>
  'authority' in address && address.authority !== undefined;

/** Returns the address as one word. Pods that are stamped with another one still use another credential. */
export function buildAddressStamp(address: DatabaseAddress): string {
  if ('inSecrets' in address) return 'in-secrets';
  const { secretName, key, version, authority } = address;
  return [secretName, key, version ?? '', ...(authority === undefined ? [] : [authority])].join(
    '/',
  );
}

/** The folder where a client finds the certificate of its database's authority. */
const CLIENT = '/etc/gx-database';
const KNOWS = 'gx-database';

/** Returns the volume and the mount by which a pod verifies the database: only the authority's certificate. */
export const buildAuthorityMount = (secretName: string) => ({
  volume: { name: KNOWS, secret: { secretName, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  mount: { name: KNOWS, mountPath: CLIENT, readOnly: true },
  /** The parameters of an address in the form of libpq and similar clients. */
  parameters: { sslmode: 'verify-full', sslrootcert: `${CLIENT}/ca.crt` },
});
