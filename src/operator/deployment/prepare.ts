import { randomBytes } from 'node:crypto';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { DATABASE_OF } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import type { OperatorDeps } from '../deps.ts';
import { stalled, waiting, type Outcome } from '../kernel/outcome.ts';
import { databaseCredential } from './objects/credential.ts';
import { dataOwner } from './objects/metadata.ts';
import { listCredentials } from './password/rotate.ts';
import type { DeploymentWorld } from './observe.ts';
import { tracingState } from './tracing-project.ts';

type Scene = { world: DeploymentWorld; signal: AbortSignal };

/** What has to be there before anything else; an outcome when it can't be. */
export async function prepare(deps: OperatorDeps, deployment: DeploymentResource, { world, signal }: Scene): Promise<Outcome | undefined> {
  if (world.foreign.length > 0) {
    return waiting('EarlierDeployment', 'Waiting until the revisions of an earlier deployment of this name are gone.', 5);
  }
  const tracing = tracingState(deployment, deps.caches, deps.settings);
  if (tracing.state === 'taken') return stalled('TracingProjectTaken', 'Another deployment of this tenant has this name.');
  if (tracing.state === 'missing') await deps.writer.create(tracing.project, signal);
  const isOwn = deployment.spec.database?.external === undefined;
  return isOwn && world.database === undefined ? credential(deps, deployment, signal) : undefined;
}

/** Only looked at while there is no database: a settled deployment reads no Secret. The first password is made, unless one was kept. */
async function credential(deps: OperatorDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<Outcome | undefined> {
  const { name, annotations } = deployment.metadata;
  const known = await listCredentials(deps, deployment, signal);
  if (known.length > 0) return undefined;
  // Another password over a volume that is there would lock everybody out.
  if (annotations?.[DATABASE_OF] !== undefined || deployment.status?.databaseSecret !== undefined) {
    const secret = deployment.status?.databaseSecret ?? names.databaseSecret(name, dataOwner(deployment));
    return stalled('SecretMissing', `The kept database's credential ${secret} is not there.`);
  }
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  await deps.writer.create(databaseCredential(deployment, deps.settings, { random: randomBytes, number: 0, requestedAt }), signal);
  return undefined;
}
