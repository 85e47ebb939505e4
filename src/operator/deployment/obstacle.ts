import { randomBytes } from 'node:crypto';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { DATABASE_OF } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { stalled, waiting, type Outcome } from '../kernel/outcome.ts';
import { adminCredential, databaseCredential } from '../database/own/credentials/secret.ts';
import { dataOwner } from '../family/metadata.ts';
import { credentialsAmong, type Credential } from '../database/own/credentials/credential.ts';
import { listCredentials } from '../database/own/credentials/list.ts';
import type { DeploymentWorld } from './observe.ts';
import { tracingState } from './tracing-project.ts';

type Scene = { world: DeploymentWorld; signal: AbortSignal };

/** What can't be, and the credentials of the own database where they had to be looked at or were made; the admin's, where it was made. */
export type Prepared = { trouble?: Outcome; credentials?: Credential[]; admin?: string };

/** Makes what has to be there before anything else. */
export async function prepare(deps: OperatorDeps, deployment: DeploymentResource, { world, signal }: Scene): Promise<Prepared> {
  if (world.foreign.length > 0) {
    return { trouble: waiting('EarlierDeployment', 'Waiting until the revisions of an earlier deployment of this name are gone.', 5) };
  }
  const tracing = tracingState(deployment, deps.caches, deps.settings);
  if (tracing.state === 'taken') return { trouble: stalled('TracingProjectTaken', 'Another deployment of this tenant has this name.') };
  if (tracing.state === 'missing') await deps.writer.create(tracing.project, signal);
  const isOwn = deployment.spec.database?.external === undefined;
  return isOwn && world.database === undefined ? credential(deps, deployment, signal) : {};
}

/** Only looked at while there is no database: a settled deployment reads no Secret. The first password is made, unless one was kept. */
async function credential(deps: OperatorDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<Prepared> {
  const { name, annotations } = deployment.metadata;
  const known = isNew(deployment) ? [] : await listCredentials(deps, deployment, signal);
  if (known.length > 0) return { credentials: known };
  // Another password over a volume that is there would lock everybody out.
  if (annotations?.[DATABASE_OF] !== undefined || deployment.status?.databaseSecret !== undefined) {
    const secret = deployment.status?.databaseSecret ?? names.databaseSecret(name, dataOwner(deployment));
    return { trouble: stalled('SecretMissing', `The kept database's credential ${secret} is not there.`) };
  }
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  const admin = adminCredential(deployment, deps.settings, { random: randomBytes, isNew: true });
  const made = databaseCredential(deployment, deps.settings, { random: randomBytes, number: 0, requestedAt });
  for (const secret of [admin, made]) await deps.writer.create(secret, signal);
  return { credentials: credentialsAmong([made], deployment), admin: admin.metadata.name };
}

/** Its data is its own and its spec was never changed: there is no other password than the first, if there is one at all. */
const isNew = ({ metadata, status }: DeploymentResource): boolean =>
  metadata.generation === 1 && metadata.annotations?.[DATABASE_OF] === undefined && status?.databaseSecret === undefined;
