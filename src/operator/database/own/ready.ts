import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { ASLEEP, HIBERNATED } from '../../../schema/platform/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { askedOfNodes, databasePlace } from '../../objects/placed.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { diagnose, isPodOver, isPodReady } from '../../pods/diagnose.ts';
import { isSetUp, replicasOf } from '../../pods/workload-state.ts';
import type { DatabaseFacts, DatabaseView } from '../database.ts';
import { notReady, ready } from '../ready.ts';
import { isGuardAway, withoutGuards } from './fullness.ts';

type Live = Pick<DatabaseView, 'database' | 'databasePods'>;

/** Returns true if the database is up, by its set or by its pod. After an end of the guard the set is late. */
export const isDatabaseUp = ({ database, databasePods }: Live): boolean =>
  isSetUp(database) ||
  databasePods.some((pod) => isGuardAway(pod) || (isPodReady(pod) && !isPodOver(pod) && pod.metadata.deletionTimestamp === undefined));

/** Returns true if it takes connections. A set that is scaled to zero counts its last pod for a moment longer. */
export const isAnswering = (live: Live): boolean => isDatabaseUp(live) && replicasOf(live.database) > 0;

/** Returns the condition of a managed database. */
export function ownStatement(
  deployment: DeploymentResource,
  { view, settings, now }: Pick<DatabaseFacts, 'view' | 'settings' | 'now'>,
): StatedCondition {
  if (isAnswering(view)) return ready('The database answers.');
  if (deployment.spec.hibernate === true) return notReady('The database is stopped; its volume is kept.', HIBERNATED);
  if (view.isAsleep) return notReady('The database sleeps with its deployment; its volume is kept.', ASLEEP);
  const patience = { now: now.getTime(), imagePullSeconds: settings.imagePullPatienceSeconds, asked: askedOf(deployment, settings) };
  const cause = diagnose(undefined, withoutGuards(view.databasePods), patience)?.message ?? podless(view, now);
  return notReady(['The database does not answer yet.', cause].filter(Boolean).join(' '));
}

/** Returns the place and the storage class of the database as a sentence. */
function askedOf(deployment: DeploymentResource, settings: OperatorSettings): string | undefined {
  const storageClass = deployment.spec.database?.storageClass;
  const volume = storageClass === undefined ? undefined : `Its volume asks for storage class ${storageClass}.`;
  return [askedOfNodes(databasePlace(deployment, settings)), volume].filter(Boolean).join(' ');
}

/**
 * Seconds after which a set without a pod is reported. Its controller makes one within milliseconds, or events say why
 * not.
 */
export const PODLESS = 30;

function podless({ database: set, databasePods }: Live, now: Date): string | undefined {
  if (set === undefined || databasePods.length > 0) return undefined;
  const age = ageOf(set, now);
  return age < PODLESS
    ? undefined
    : `It has no pod; the events of StatefulSet ${set.metadata.name} say why (a quota, or an admission policy).`;
}

const ageOf = ({ metadata }: KubeObject, now: Date): number =>
  (now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString())) / 1000;
