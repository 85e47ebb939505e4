import type { DatabaseSecret } from '../../reports/part-report.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { DATABASE_READY } from '../../../schema/platform/objects/conditions.ts';
import { URI_KEY } from '../../../schema/platform/spec/database-spec.ts';
import { REVISION } from '../../../schema/platform/objects/labels.ts';
import { resolveConnections } from '../../rollout/connections.ts';
import { isTrue } from '../../kernel/conditions.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { isPodReady, isPodUp } from '../../pods/diagnose.ts';
import { getDatabaseAddress } from '../address.ts';
import type { DatabaseEngine } from '../database.ts';
import { buildNotReadyCondition, buildReadinessReport, buildReadyCondition } from '../ready.ts';
import { readExternalSecret } from './secret.ts';

/**
 * Seconds after which a Secret that names no database is read again. Nothing wakes the deployment when it is repaired.
 */
const SECRET_POLL = 10;

/** A database that somebody else runs, named by a Secret. The operator neither makes nor removes any of its objects. */
export const external: DatabaseEngine = {
  address: (deployment) =>
    getDatabaseAddress(deployment, deployment.spec.database?.external?.key ?? URI_KEY),
  takesConnections: (deployment) => isTrue(deployment, DATABASE_READY),
  answer: ({ settings }, deployment) => ({
    databaseReady: isTrue(deployment, DATABASE_READY),
    databaseSince: undefined,
    connections: resolveConnections(deployment, settings).max,
  }),
  runner: () => undefined,
  desired: () => [],
  prepare: async (deps, deployment, pass) => ({
    secret: await readExternalSecret(deps, deployment, pass),
  }),
  step: () => Promise.resolve(undefined),
  report: (_deployment, facts) => buildReadinessReport(buildExternalCondition(facts), SECRET_POLL),
  isStopped: () => true,
  // Only the number of connections has an effect.
  withoutEffect: ['dbCpu', 'dbCpuLimit', 'dbMemoryMb', 'dbMemoryLimitMb', 'dbStorageGi'],
  hold: () => Promise.resolve(),
  release: () => Promise.resolve([]),
};

/**
 * States whether the external database takes connections. The operator connects to no database, but agent pods do. They
 * are ready only while queue and database answer, and alive without them. If all that run are alive and none is ready,
 * the database is the reason.
 */
export function buildExternalCondition({
  view,
  active,
  secret,
}: {
  view: { agentPods: KubeObject[] };
  active: string | undefined;
  secret: DatabaseSecret | undefined;
}): StatedCondition {
  if (secret === undefined)
    return buildNotReadyCondition('The Secret of the external database has not been read yet.');
  if ('problem' in secret) return buildNotReadyCondition(secret.problem);
  const serving = view.agentPods
    .filter(
      ({ metadata }) =>
        metadata.annotations?.[REVISION] === active && metadata.deletionTimestamp === undefined,
    )
    .filter(isPodUp);
  if (serving.length > 0 && !serving.some(isPodReady))
    return buildNotReadyCondition(
      `No pod can reach the database that the Secret ${secret.secret} names; the pods keep running and try again.`,
    );
  return buildReadyCondition(`The Secret ${secret.secret} names an external database.`, 'External');
}
