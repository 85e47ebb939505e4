import { URI_KEY } from '../../schema/database-spec.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';

/** Where pods read the database's address: a key of a Secret, and which state of that Secret was meant. */
export type DatabaseAddress = { secretName: string; key: string; version?: string };

/** The address that pods are to be started with; undefined until the deployment's status has told one (pure). */
export function addressOf({ spec, status }: DeploymentResource): DatabaseAddress | undefined {
  if (status?.databaseSecret === undefined) return undefined;
  return {
    secretName: status.databaseSecret,
    key: spec.database?.external?.key ?? URI_KEY,
    ...(status.databaseSecretVersion !== undefined && { version: status.databaseSecretVersion }),
  };
}

/** The same address in one word: pods that bear another one still use another credential. */
export const stampOf = ({ secretName, key, version }: DatabaseAddress): string => [secretName, key, version ?? ''].join('/');
