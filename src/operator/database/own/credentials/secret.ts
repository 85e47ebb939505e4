import type { OperatorSettings } from '../../../../config/platform/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import {
  PASSWORD_LOST,
  PASSWORD_NUMBER,
  PASSWORD_REQUESTED,
} from '../../../../schema/platform/objects/labels.ts';
import { names } from '../../../../schema/names.ts';
import { OWNER } from '../../../../schema/wire/database-session.ts';
import { ADMIN, getLogin } from './sql.ts';
import { DATABASE_PORT } from '../size.ts';
import { buildChildMetadata, getDataOwner } from '../../../objects/metadata.ts';
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';

/** Bytes that make a password of 32 characters. */
const PASSWORD_BYTES = 24;
const SALT_BYTES = 16;

type NewPassword = {
  random: (bytes: number) => Buffer;
  /** Number of the password, from 0. */
  number: number;
  requestedAt: string | undefined;
};

/**
 * Returns a credential of the database. It is made only once, because another password for the same volume would lock
 * everybody out. It has no owner, because it must live as long as the volume. The deployment's finalizer removes it if
 * the policy says so.
 */
export function buildDatabaseCredential(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { random, number, requestedAt }: NewPassword,
): KubeObject {
  const { name } = deployment.metadata;
  const asked = requestedAt === undefined ? {} : { [PASSWORD_REQUESTED]: requestedAt };
  return buildCredential(deployment, settings, {
    name: names.databaseSecret(name, getDataOwner(deployment), number),
    annotations: { [PASSWORD_NUMBER]: String(number), ...asked },
    user: getLogin(number),
    isVerified: number > 0,
    random,
  });
}

/** Returns a Secret that replaces the deleted one of a credential, so that its login is known and can be closed. */
export function buildLostCredential(deployment: DeploymentResource, number: number): KubeObject {
  const { name } = deployment.metadata;
  const metadata = buildChildMetadata(
    deployment,
    'database',
    names.databaseSecret(name, getDataOwner(deployment), number),
  );
  const annotations = {
    ...metadata.annotations,
    [PASSWORD_NUMBER]: String(number),
    [PASSWORD_LOST]: 'true',
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, annotations },
    type: 'Opaque',
    immutable: true,
  };
}

/**
 * Returns the credential of the role that sets passwords. Only the pods that change a password get it. It lives as long
 * as the others.
 */
export const buildAdminCredential = (
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { random }: Pick<NewPassword, 'random'>,
): KubeObject =>
  buildCredential(deployment, settings, {
    name: names.databaseAdmin(deployment.metadata.name, getDataOwner(deployment)),
    annotations: {},
    user: ADMIN,
    isVerified: false,
    random,
  });

type Login = Pick<NewPassword, 'random'> & {
  name: string;
  annotations: Record<string, string>;
  user: string;
  /** A running database gets its verifier. A new one is made with the password itself, which saves 1 ms of hashing. */
  isVerified: boolean;
};

function buildCredential(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { name, annotations, user, isVerified, random }: Login,
): KubeObject {
  const host = `${names.database(deployment.metadata.name)}.${deployment.metadata.namespace}.svc.${settings.clusterDomain}`;
  const password = random(PASSWORD_BYTES).toString('base64url');
  const metadata = buildChildMetadata(deployment, 'database', name);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    type: 'Opaque',
    immutable: true,
    stringData: {
      host,
      port: String(DATABASE_PORT),
      dbname: OWNER,
      user,
      password,
      ...(isVerified && { verifier: buildScramVerifier(password, random(SALT_BYTES)) }),
      uri: `postgresql://${user}:${password}@${host}:${DATABASE_PORT}/${OWNER}`,
    },
  };
}

/** The number of iterations that Postgres uses. */
const ITERATIONS = 4096;
const LENGTH = 32;

/**
 * Returns the form in which Postgres stores a password (RFC 5803): `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`.
 * It is sent in place of the password, so that no log of statements ever holds the password. Passwords must be ASCII,
 * because others would have to be normalised first.
 */
export function buildScramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, LENGTH, 'sha256');
  const signWord = (word: string): Buffer => createHmac('sha256', salted).update(word).digest();
  const stored = createHash('sha256').update(signWord('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${signWord('Server Key').toString('base64')}`;
}
