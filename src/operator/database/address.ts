import { URI_KEY } from '../../schema/database-spec.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';

/**
 * Where pods read the database's address: a key of a Secret, and which state of that Secret was meant; with the Secret of the authority
 * that they know the database by, where it serves TLS by the platform's own.
 */
export type DatabaseAddress = { secretName: string; key: string; version?: string; authority?: string };

/** The address that pods are to be started with; undefined until the deployment's status has told one (pure). */
export function addressOf(deployment: DeploymentResource): DatabaseAddress | undefined {
  const { spec, status } = deployment;
  if (status?.databaseSecret === undefined) return undefined;
  const authority = authorityOf(deployment);
  return {
    secretName: status.databaseSecret,
    key: spec.database?.external?.key ?? URI_KEY,
    ...(status.databaseSecretVersion !== undefined && { version: status.databaseSecretVersion }),
    ...(authority !== undefined && { authority }),
  };
}

/** The Secret by which pods know the deployment's own database, once that serves TLS (pure). */
export const authorityOf = ({ metadata, status }: DeploymentResource): string | undefined =>
  status?.databaseCertificateUntil === undefined ? undefined : names.databaseTls(metadata.name);

/** The same address in one word: pods that bear another one still use another credential. */
export const stampOf = ({ secretName, key, version, authority }: DatabaseAddress): string =>
  [secretName, key, version ?? '', ...(authority === undefined ? [] : [authority])].join('/');
