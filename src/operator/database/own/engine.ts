import { URI_KEY } from '../../../schema/database-spec.ts';
import { names } from '../../../schema/names.ts';
import { seenTemplate } from '../../pods/settled-template.ts';
import { addressIn } from '../address.ts';
import type { DatabaseEngine } from '../database.ts';
import { servedConnections } from './connections.ts';
import { desiredDatabase } from './desired.ts';
import { fullnessOf } from './fullness.ts';
import { isStopped } from './hibernate.ts';
import { prepareDatabase } from './prepare.ts';
import { isAnswering, ownStatement, PODLESS } from './ready.ts';
import { holdPod, removeData } from './release.ts';
import { growVolume } from './volume.ts';

/** The managed database: a Postgres for one deployment, in a StatefulSet of one pod with a volume that outlives it. */
export const own: DatabaseEngine = {
  address: (deployment) => addressIn(deployment, URI_KEY, names.databaseTls(deployment.metadata.name)),
  takesConnections: (_deployment, view) => isAnswering(view),
  connections: servedConnections,
  desired: desiredDatabase,
  prepare: prepareDatabase,
  step: growVolume,
  report(deployment, facts) {
    const { view, written, now } = facts;
    const { statement, again } = fullnessOf(deployment, view.databasePods, now);
    const set = written.find(({ kind }) => kind === 'StatefulSet');
    return {
      ready: ownStatement(deployment, facts),
      statements: statement === undefined ? [] : [statement],
      template: seenTemplate(set, deployment.status?.databaseTemplate),
      again,
      poll: view.databasePods.length === 0 ? PODLESS + 1 : undefined,
    };
  },
  isStopped,
  withoutEffect: [],
  hold: holdPod,
  release: removeData,
};
