import { randomBytes } from 'node:crypto';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { DATABASE_OF } from '../../../schema/platform/labels.ts';
import { names } from '../../../schema/names.ts';
import { dataOwner } from '../../objects/metadata.ts';
import { stalled, type ReconcileOutcome } from '../../kernel/outcome.ts';
import type { DeploymentStatusFields, PartDeps, PartPrepared } from '../../reports/part-report.ts';
import type { DatabasePass } from '../database.ts';
import { credentialsAmong, type Credential } from './credentials/credential.ts';
import { listCredentials } from './credentials/list.ts';
import { rotatePassword, type PasswordState } from './credentials/rotate.ts';
import { adminCredential, databaseCredential } from './credentials/secret.ts';
import { forDataOf } from './data-user.ts';
import { desiredDatabase } from './desired.ts';
import { keepCertificate, type Kept } from './tls/keep.ts';
import { keepClaimWords, keptClaim, withFoundVolume, withSizeOf } from './volume.ts';

/**
 * Makes the credential and the certificate of a managed database, and moves a change of its password one step forward.
 */
export async function prepareDatabase(deps: PartDeps, deployment: DeploymentResource, pass: DatabasePass): Promise<PartPrepared> {
  const { view, isHeld, signal } = pass;
  const first = isHeld || view.database !== undefined ? {} : await firstCredential(deps, deployment, signal);
  const password = await rotatePassword(deps, deployment, { ...pass, known: first.credentials });
  const mayGoOn = !isHeld && first.trouble === undefined;
  const certificate = mayGoOn ? await keepCertificate(deps, deployment, pass) : undefined;
  const claimWords = mayGoOn ? await keepClaimWords(deps, deployment, pass) : deployment.status?.claimWords;
  const isFound = mayGoOn && view.database === undefined && !isNew(deployment);
  const objects = isFound ? await withVolume(deps, deployment, pass) : undefined;
  return {
    ...(first.trouble && { trouble: first.trouble }),
    ...(objects && { objects }),
    ...prepared(deployment, { password, certificate, claimWords }),
  };
}

/** Returns the objects of a database whose set is not there, while its volume may be. */
async function withVolume(deps: PartDeps, deployment: DeploymentResource, { view, signal }: DatabasePass): Promise<KubeObject[]> {
  const found = await withFoundVolume(deps, deployment, signal);
  const claim = await keptClaim(deps, found, signal);
  if (claim === undefined) return desiredDatabase(found, deps.settings, view);
  return withSizeOf(claim, desiredDatabase(found, forDataOf(deps.settings, claim), view));
}

type Done = { password: PasswordState; certificate: Kept | undefined; claimWords: string | undefined };

function prepared(deployment: DeploymentResource, { password, certificate, claimWords }: Done): PartPrepared {
  const { status } = deployment;
  const { secret, rotation, requestedAt, again } = password;
  return {
    secret,
    statements: rotation === undefined ? [] : [rotation],
    underWay: rotation,
    status: given({
      databaseAdminSecret: secret && names.databaseAdmin(deployment.metadata.name, dataOwner(deployment)),
      databaseCertificateUntil: certificate?.until ?? status?.databaseCertificateUntil,
      passwordRequestedAt: requestedAt,
      claimWords,
    }),
    again: [again, certificate?.again],
  };
}

const given = (fields: Record<string, string | undefined>): DeploymentStatusFields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The obstacle, if any, and the credentials if they were found or made. */
type First = { trouble?: ReconcileOutcome; credentials?: Credential[] };

/**
 * Makes the first password, unless one was kept. Credentials are read only while there is no database, so a settled
 * deployment reads no Secret.
 */
async function firstCredential(deps: PartDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<First> {
  const { name, annotations } = deployment.metadata;
  const known = isNew(deployment) ? [] : await listCredentials(deps, deployment, signal);
  if (known.length > 0) return { credentials: known };
  // Another password for an existing volume would lock everybody out.
  if (annotations?.[DATABASE_OF] !== undefined || deployment.status?.databaseSecret !== undefined) {
    const secret = deployment.status?.databaseSecret ?? names.databaseSecret(name, dataOwner(deployment));
    return { trouble: stalled('SecretMissing', `The kept database's credential ${secret} is not there.`) };
  }
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  const admin = adminCredential(deployment, deps.settings, { random: randomBytes });
  const made = databaseCredential(deployment, deps.settings, { random: randomBytes, number: 0, requestedAt });
  for (const secret of [admin, made]) await deps.writer.create(secret, signal);
  return { credentials: credentialsAmong([made], deployment) };
}

/**
 * Returns true if the data is the deployment's own and its spec was never changed. A password can then only be the
 * first.
 */
const isNew = ({ metadata, status }: DeploymentResource): boolean =>
  metadata.generation === 1 && metadata.annotations?.[DATABASE_OF] === undefined && status?.databaseSecret === undefined;
