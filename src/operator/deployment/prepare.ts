import { randomBytes } from 'node:crypto';
import { NotFound } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { DATABASE_OF } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import type { OperatorDeps } from '../deps.ts';
import { stalled, waiting, type Outcome } from '../kernel/outcome.ts';
import { databaseCredential } from './objects/credential.ts';
import { dataOwner } from './objects/metadata.ts';
import type { DeploymentWorld } from './observe.ts';
import { tracingState } from './tracing-project.ts';

/** 32 characters. */
const PASSWORD_BYTES = 24;

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

/** Only looked at before the database exists: a settled deployment reads no Secret. */
async function credential({ kube, writer, settings }: OperatorDeps, deployment: DeploymentResource, signal: AbortSignal) {
  const { namespace, name, annotations } = deployment.metadata;
  if (annotations?.[DATABASE_OF] === undefined) {
    await writer.create(databaseCredential(deployment, settings, randomBytes(PASSWORD_BYTES).toString('base64url')), signal);
    return undefined;
  }
  const secret = names.databaseSecret(name, dataOwner(deployment));
  const found = await kube.get(kinds.secret, { namespace, name: secret }, signal).catch(unlessMissing);
  return found === undefined ? stalled('SecretMissing', `The kept database's credential ${secret} is not there.`) : undefined;
}

const unlessMissing = (error: unknown): undefined => {
  if (error instanceof NotFound) return undefined;
  throw error;
};
