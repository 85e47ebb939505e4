import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import type { Statement } from '../kernel/outcome.ts';
import { desiredDeployment } from './desired.ts';
import { externalSecret } from './external.ts';
import { databaseReplicas } from './hibernation.ts';
import { observeDeployment, type DeploymentWorld } from './observe.ts';
import { activeOf, missingRevision, outdated } from './picks.ts';
import { growVolume } from './volume.ts';
import type { Credential } from './password/credentials.ts';
import { rotatePassword, type PasswordState } from './password/rotate.ts';
import { prepare } from './prepare.ts';
import { deploymentReport, type DeploymentStatusFields } from './status.ts';

/** Keeps the newest revision, the database and the Service of a deployment as its spec and its revisions ask. */
export const reconcileDeployment =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal, now }) => {
    const { caches, settings, writer } = deps;
    const before = observeDeployment(caches, deployment);
    const active = activeOf(before.revisions, deployment.status?.activeRevision)?.metadata.name;
    const { trouble, credentials } = await prepare(deps, deployment, { world: before, signal });
    let growth: Statement | undefined;
    const password = await databaseSecret(deps, deployment, { world: before, credentials, signal, now });
    if (trouble === undefined) {
      const given = { database: before.database, active, replicas: databaseReplicas(deployment, before) };
      await writer.reconcile(desiredDeployment(deployment, settings, given), before.children, signal);
      const revision = missingRevision(deployment, before.revisions);
      if (revision !== undefined) await writer.create(revision, signal);
      const limit = deployment.spec.revisionHistoryLimit ?? settings.revisionHistoryLimit;
      const history = { limit, days: settings.revisionHistoryDays, now };
      for (const old of outdated(before.revisions, active, history)) await writer.remove(old, signal);
      growth = await growVolume(deps, deployment, { database: before.database, signal });
    }
    return deploymentReport(deployment, { world: observeDeployment(caches, deployment), active, trouble, growth, password, now }, settings);
  };

type Scene = { world: DeploymentWorld; credentials: Credential[] | undefined; signal: AbortSignal; now: Date };

async function databaseSecret(deps: OperatorDeps, deployment: DeploymentResource, scene: Scene): Promise<PasswordState> {
  if (deployment.spec.database?.external === undefined) return rotatePassword(deps, deployment, scene);
  return { secret: await externalSecret(deps, deployment, scene) };
}
