import { keyOf } from '../../../kube/cache.ts';
import { URI_KEY } from '../../../schema/platform/database-spec.ts';
import { isRestorePending } from '../../../schema/platform/restore-spec.ts';
import { COMPONENT } from '../../../schema/platform/labels.ts';
import { names } from '../../../schema/names.ts';
import { BY_DEPLOYMENT } from '../../view/caches.ts';
import { readySince } from '../../pods/diagnose.ts';
import { seenTemplate } from '../../pods/settled-template.ts';
import { replicasOf } from '../../pods/workload-state.ts';
import { addressIn } from '../address.ts';
import type { DatabaseEngine } from '../database.ts';
import { readiness } from '../ready.ts';
import { servedConnections } from './connections.ts';
import { desiredDatabase } from './desired.ts';
import { fullnessOf } from './fullness.ts';
import { prepareDatabase } from './prepare.ts';
import { isAnswering, ownStatement, PODLESS } from './ready.ts';
import { holdPod, removeData } from './release.ts';
import { LOOK_AGAIN, renewalStatement } from './turns.ts';
import { growVolume } from './volume.ts';

/** The managed database: a Postgres for one deployment, in a StatefulSet of one pod with a volume that outlives it. */
export const own: DatabaseEngine = {
  // Nobody starts before the data is there.
  address: (deployment) =>
    isRestorePending(deployment) ? undefined : addressIn(deployment, URI_KEY, names.databaseTls(deployment.metadata.name)),
  takesConnections: (_deployment, view) => isAnswering(view),
  answer({ caches, settings }, deployment) {
    const { namespace, name } = deployment.metadata;
    const pods = caches.pods.byIndex(BY_DEPLOYMENT, keyOf(deployment.metadata));
    const databasePods = pods.filter(({ metadata }) => metadata.labels?.[COMPONENT] === 'database');
    const live = { database: caches.statefulSets.get(`${namespace}/${names.database(name)}`), databasePods };
    const since = Math.max(...databasePods.map((pod) => readySince(pod) ?? 0));
    return {
      databaseReady: isAnswering(live),
      databaseSince: since > 0 ? since : undefined,
      connections: servedConnections(deployment, settings, live),
    };
  },
  runner: ({ metadata }, objects) =>
    objects.find((object) => object.kind === 'StatefulSet' && object.metadata.name === names.database(metadata.name)),
  desired: desiredDatabase,
  prepare: prepareDatabase,
  step: growVolume,
  report(deployment, facts) {
    const { view, written, now } = facts;
    const { statement, again } = fullnessOf(deployment, view.databasePods, now);
    const set = written.find(({ kind }) => kind === 'StatefulSet');
    const template = seenTemplate(set, deployment.status?.databaseTemplate);
    const held = view.renewalHeld;
    const { statements, ...report } = readiness(ownStatement(deployment, facts), view.databasePods.length === 0 ? PODLESS + 1 : undefined);
    return {
      ...report,
      statements: [...statements, ...(statement === undefined ? [] : [statement]), ...(held === undefined ? [] : [renewalStatement(held)])],
      status: { ...(template !== undefined && { databaseTemplate: template }) },
      again: [again, held && LOOK_AGAIN],
    };
  },
  isStopped: ({ database, databasePods }) => databasePods.length === 0 && (database === undefined || replicasOf(database) === 0),
  withoutEffect: [],
  hold: holdPod,
  release: removeData,
};
