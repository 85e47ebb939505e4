import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { noLaterThan, type Outcome, type Statement } from '../kernel/outcome.ts';
import { desiredDeployment } from './desired.ts';
import { externalSecret } from '../database/external/secret.ts';
import { databaseReplicas } from '../database/own/hibernate.ts';
import { observeDeployment, type DeploymentWorld } from './observe.ts';
import { activeOf, missingRevision, nextExpiry, outdated } from './history.ts';
import { completeRevision } from '../family/complete.ts';
import { growVolume } from '../database/own/volume.ts';
import { rotatePassword, type PasswordState } from '../database/own/credentials/rotate.ts';
import { prepare, type Prepared } from './obstacle.ts';
import { keepCertificate, type Kept } from '../database/own/tls/keep.ts';
import { deploymentReport, type DeploymentStatusFields } from './status.ts';

/** Keeps the newest revision, the database and the Service of a deployment as its spec and its revisions ask. */
export const reconcileDeployment =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal, now }) => {
    const { caches, settings, writer } = deps;
    const before = observeDeployment(caches, deployment);
    const complete = await completeRevision(deps, before.revisions, { signal, now });
    const active = activeOf(before.revisions, deployment.status?.activeRevision)?.metadata.name;
    const prepared = await prepare(deps, deployment, { world: before, signal });
    const { trouble } = prepared;
    let growth: Statement | undefined;
    let database: KubeObject | undefined;
    let certificate: Kept | undefined;
    const limit = deployment.spec.revisionHistoryLimit ?? settings.revisionHistoryLimit;
    const history = { limit, days: settings.revisionHistoryDays, now };
    const password = await databaseSecret(deps, deployment, { world: before, prepared, signal, now });
    if (trouble === undefined) {
      const given = { database: before.database, active: complete ?? active, replicas: databaseReplicas(deployment, before) };
      const desired = desiredDeployment(deployment, settings, given);
      certificate = await keepCertificate(deps, deployment, { set: desired.find(isSet), world: before, signal, now });
      database = (await writer.reconcile(desired, before.children, signal)).find(isSet);
      const revision = missingRevision(deployment, before.revisions);
      if (revision !== undefined) await writer.create(revision, signal);
      for (const old of outdated(before.revisions, active, history)) await writer.remove(old, signal);
      growth = await growVolume(deps, deployment, { database: before.database, signal });
    }
    const world = observeDeployment(caches, deployment);
    const report = deploymentReport(deployment, { world, active, trouble, growth, password, database, certificate, now }, settings);
    const due = [password.separation?.again, password.again, certificate?.again, nextExpiry(world.revisions, active, history)];
    return { ...report, outcome: due.reduce<Outcome>(noLaterThan, report.outcome) };
  };

const isSet = ({ kind }: KubeObject): boolean => kind === 'StatefulSet';

type Scene = { world: DeploymentWorld; prepared: Prepared; signal: AbortSignal; now: Date };

async function databaseSecret(deps: OperatorDeps, deployment: DeploymentResource, scene: Scene): Promise<PasswordState> {
  if (deployment.spec.database?.external === undefined) return rotatePassword(deps, deployment, scene);
  return { secret: await externalSecret(deps, deployment, scene) };
}
