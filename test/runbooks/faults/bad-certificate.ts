import { until } from '../../kit/until.ts';
import {
  deployed,
  isReady,
  labelsOf,
  NAMESPACE,
  newName,
  removed,
  sql,
  variablesOf,
} from '../agents.ts';
import { serveForeign, suspend } from '../certificates.ts';
import type { Fault } from '../fault.ts';

const CUT = `select count(pg_terminate_backend(pid)) from pg_stat_activity where client_addr is not null`;

export const badCertificate: Fault = {
  name: 'a database whose certificate an authority signed that its agents do not know',
  plant: async (scene) => {
    const name = newName('foreign');
    await deployed(scene, name);
    await suspend(scene, name);
    await serveForeign(scene, name);
    // The node brings files of Secrets within a minute and a half, and connections that are there stay.
    await until(
      'agents refuse it',
      async () => {
        await scene.kubectl(
          'annotate',
          'pod',
          `${name}-db-0`,
          '-n',
          NAMESPACE,
          '--overwrite',
          `example.com/look=${Date.now()}`,
        );
        await sql(scene, name, CUT);
        return (await scene.watcher.value(`min(gx_database_up{deployment="${name}"})`)) === 0;
      },
      150,
    );
    return {
      labels: labelsOf(name),
      variables: variablesOf(name),
      isCured: async () =>
        (await isReady(scene, name)) &&
        (await scene.watcher.value(`min(gx_database_up{deployment="${name}"})`)) === 1,
      remove: () => removed(scene, name),
    };
  },
  found: { alert: 'GxDatabaseAway', seconds: 60 },
  page: { file: 'database-away.md', entry: 'A refused certificate' },
  cured: { seconds: 240 },
};
