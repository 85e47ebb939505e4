import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { DATABASE_READY, HIBERNATED } from '../../schema/conditions.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { REVISION } from '../../schema/labels.ts';
import { diagnose, isPodReady, isPodUp } from '../pods/diagnose.ts';
import { isTrue } from '../kernel/conditions.ts';
import type { Statement } from '../kernel/outcome.ts';
import { replicasOf } from '../pods/workload-state.ts';
import type { DatabaseSecret } from './external/secret.ts';
import type { DeploymentWorld } from '../deployment/observe.ts';
import { isDatabaseUp, withoutGuards } from './own/fullness.ts';

type Scene = { settings: OperatorSettings; now: Date; active: string | undefined; secret: DatabaseSecret | undefined };

/** Whether the deployment's database takes connections, as far as Kubernetes shows it (pure). */
export function databaseStatement(deployment: DeploymentResource, world: DeploymentWorld, scene: Scene): Statement {
  return deployment.spec.database?.external === undefined ? ownDatabase(deployment, world, scene) : externalDatabase(world, scene);
}

const ready = (message: string, reason = 'Ready'): Statement => ({ type: DATABASE_READY, status: 'True', reason, message });
const notReady = (message: string, reason = 'DatabaseNotReady'): Statement => ({ type: DATABASE_READY, status: 'False', reason, message });

type Seen = Pick<DeploymentWorld, 'database' | 'databasePods'>;

/** Whether agents can connect (pure): to an own database by what is seen now, to an external one as the deployment has told. */
export const takesConnections = (deployment: DeploymentResource, seen: Seen): boolean =>
  deployment.spec.database?.external === undefined ? isAnswering(seen) : isTrue(deployment, DATABASE_READY);

/** A set scaled to zero counts its last pod for a moment longer. */
const isAnswering = (seen: Seen): boolean => isDatabaseUp(seen) && replicasOf(seen.database) > 0;

function ownDatabase({ spec }: DeploymentResource, { database, databasePods }: DeploymentWorld, { settings, now }: Scene): Statement {
  if (isAnswering({ database, databasePods })) return ready('The database answers.');
  if (spec.hibernate === true) return notReady('The database is stopped; its volume is kept.', HIBERNATED);
  const patience = { now: now.getTime(), imagePullSeconds: settings.imagePullPatienceSeconds };
  const cause = diagnose(undefined, withoutGuards(databasePods), patience)?.message ?? podless(database, databasePods, now);
  return notReady(['The database does not answer yet.', cause].filter(Boolean).join(' '));
}

/** Seconds after which a set without a pod is told: its controller makes one within some milliseconds, or says in events why not. */
export const PODLESS = 30;

function podless(set: KubeObject | undefined, pods: KubeObject[], now: Date): string | undefined {
  if (set === undefined || pods.length > 0) return undefined;
  const age = (now.getTime() - Date.parse(set.metadata.creationTimestamp ?? now.toISOString())) / 1000;
  return age < PODLESS
    ? undefined
    : `Its pod is not there; the events of StatefulSet ${set.metadata.name} say why (a quota, or an admission policy).`;
}

/**
 * The operator connects to no database. Agent pods do, and say so: they are ready while queue and database answer, and alive without
 * them. When all those that run are alive and none is ready, it is the database.
 */
function externalDatabase({ agentPods }: DeploymentWorld, { active, secret }: Scene): Statement {
  if (secret === undefined) return notReady('The Secret of the external database has not been read yet.');
  if ('problem' in secret) return notReady(secret.problem);
  const serving = agentPods.filter(({ metadata }) => isOf(metadata, active) && metadata.deletionTimestamp === undefined).filter(isPodUp);
  if (serving.length > 0 && !serving.some(isPodReady))
    return notReady(`No pod reaches the database that the Secret ${secret.secret} names; they run on and try again.`);
  return ready(`The Secret ${secret.secret} names an external database.`, 'External');
}

const isOf = ({ annotations }: KubeObject['metadata'], revision: string | undefined): boolean => annotations?.[REVISION] === revision;
