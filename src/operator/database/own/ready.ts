import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { ASLEEP, HIBERNATED } from '../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { describePlacement, resolveDatabasePlace } from '../../objects/placed.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { findWorstDiagnosis, isPodOver, isPodReady } from '../../pods/diagnose.ts';
import { isSetUp, getReplicas } from '../../pods/workload-state.ts';
import type { DatabaseView } from '../database.ts';
import { buildNotReadyCondition, buildReadyCondition } from '../ready.ts';
import { isGuardAway, stripGuards } from './fullness.ts';

type Live = { database: KubeObject | undefined; databasePods: KubeObject[] };

/** Returns true if the database is up, by its set or by its pod. After an end of the guard the set is late. */
export const isDatabaseUp = ({ database, databasePods }: Live): boolean =>
  isSetUp(database) ||
  databasePods.some(
    (pod) =>
      isGuardAway(pod) ||
      (isPodReady(pod) && !isPodOver(pod) && pod.metadata.deletionTimestamp === undefined),
  );

/** Returns true if it takes connections. A set that is scaled to zero counts its last pod for a moment longer. */
export const isAnswering = (live: Live): boolean =>
  isDatabaseUp(live) && getReplicas(live.database) > 0;

/** Returns the condition of a managed database. */
export function buildManagedCondition(
  deployment: DeploymentResource,
  { view, settings, now }: { view: DatabaseView; settings: OperatorSettings; now: Date },
): StatedCondition {
  if (isAnswering(view)) return buildReadyCondition('The database answers.');
  if (deployment.spec.hibernate === true)
    return buildNotReadyCondition('The database is stopped; its volume is kept.', HIBERNATED);
  if (view.isAsleep)
    return buildNotReadyCondition(
      'The database sleeps with its deployment; its volume is kept.',
      ASLEEP,
    );
  const patience = {
    now: now.getTime(),
    imagePullSeconds: settings.imagePullPatienceSeconds,
    asked: describeRequest(deployment, settings),
  };
  const cause =
    findWorstDiagnosis(undefined, stripGuards(view.databasePods), patience)?.message ??
    describePodless(view, now);
  return buildNotReadyCondition(
    ['The database does not answer yet.', cause].filter(Boolean).join(' '),
  );
}

function describeRequest(
  deployment: DeploymentResource,
  settings: OperatorSettings,
): string | undefined {
  const storageClass = deployment.spec.database?.storageClass;
  const volume =
    storageClass === undefined ? undefined : `Its volume asks for storage class ${storageClass}.`;
  return [describePlacement(resolveDatabasePlace(deployment, settings)), volume]
    .filter(Boolean)
    .join(' ');
}

/**
 * Seconds after which a set without a pod is reported. Its controller makes one within milliseconds, or events say why
 * not.
 */
export const PODLESS = 30;

function describePodless({ database: set, databasePods }: Live, now: Date): string | undefined {
  if (set === undefined || databasePods.length > 0) return undefined;
  const age = measureAge(set, now);
  return age < PODLESS
    ? undefined
    : `It has no pod; the events of StatefulSet ${set.metadata.name} say why (a quota, or an admission policy).`;
}

const measureAge = ({ metadata }: KubeObject, now: Date): number =>
  (now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString())) / 1000;
