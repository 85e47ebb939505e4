import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import type { Statement } from '../kernel/outcome.ts';
import { desiredDeployment } from './desired.ts';
import { externalSecret, type DatabaseSecret } from './external.ts';
import { dataOwner } from './objects/metadata.ts';
import { databaseReplicas } from './hibernation.ts';
import { observeDeployment, type DeploymentWorld } from './observe.ts';
import { activeOf, missingRevision, outdated } from './picks.ts';
import { growVolume } from './volume.ts';
import { prepare } from './prepare.ts';
import { deploymentReport, type DeploymentStatusFields } from './status.ts';

/** Keeps the newest revision, the database and the Service of a deployment as its spec and its revisions ask. */
export const reconcileDeployment =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal, now }) => {
    const { caches, settings, writer } = deps;
    const before = observeDeployment(caches, deployment);
    const active = activeOf(before.revisions, deployment.status?.activeRevision)?.metadata.name;
    const trouble = await prepare(deps, deployment, { world: before, signal });
    let growth: Statement | undefined;
    const secret = await databaseSecret(deps, deployment, { world: before, signal });
    if (trouble === undefined) {
      const given = { database: before.database, active, replicas: databaseReplicas(deployment, before) };
      await writer.reconcile(desiredDeployment(deployment, settings, given), before.children, signal);
      const revision = missingRevision(deployment, before.revisions);
      if (revision !== undefined) await writer.create(revision, signal);
      const limit = deployment.spec.revisionHistoryLimit ?? settings.revisionHistoryLimit;
      for (const old of outdated(before.revisions, active, limit)) await writer.remove(old, signal);
      growth = await growVolume(deps, deployment, { database: before.database, signal });
    }
    return deploymentReport(deployment, { world: observeDeployment(caches, deployment), active, trouble, growth, secret, now }, settings);
  };

type Scene = { world: DeploymentWorld; signal: AbortSignal };

async function databaseSecret(deps: OperatorDeps, deployment: DeploymentResource, scene: Scene): Promise<DatabaseSecret> {
  if (deployment.spec.database?.external !== undefined) return externalSecret(deps, deployment, scene);
  return { secret: names.databaseSecret(deployment.metadata.name, dataOwner(deployment)) };
}
