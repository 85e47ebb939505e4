import type { DeploymentResource } from '../../schema/custom-resources.ts';

/**
 * Where pods read the database's address: a key of a Secret, and which state of that Secret was meant; with the Secret
 * of the authority that they know the database by, where it serves TLS by the platform's own.
 */
export type DatabaseAddress = { secretName: string; key: string; version?: string; authority?: string };

/** The address that the status of a deployment tells, under this key of its Secret; undefined until it has told one. */
export function addressIn({ status }: DeploymentResource, key: string, authority?: string): DatabaseAddress | undefined {
  if (status?.databaseSecret === undefined) return undefined;
  return {
    secretName: status.databaseSecret,
    key,
    ...(status.databaseSecretVersion !== undefined && { version: status.databaseSecretVersion }),
    ...(authority !== undefined && { authority }),
  };
}

/** The same address in one word: pods that bear another one still use another credential. */
export const stampOf = ({ secretName, key, version, authority }: DatabaseAddress): string =>
  [secretName, key, version ?? '', ...(authority === undefined ? [] : [authority])].join('/');

/** Where a client finds the authority that it knows its database by. */
const CLIENT = '/etc/gx-database';
const KNOWS = 'gx-database';

/** What lets a pod know the database by its authority: nothing of the Secret but that certificate. */
export const authorityMount = (secretName: string) => ({
  volume: { name: KNOWS, secret: { secretName, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  mount: { name: KNOWS, mountPath: CLIENT, readOnly: true },
  /** As libpq and its kin in other languages want it in an address. */
  parameters: { sslmode: 'verify-full', sslrootcert: `${CLIENT}/ca.crt` },
});
