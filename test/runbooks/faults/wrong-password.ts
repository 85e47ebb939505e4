import { deployed, isReady, labelsOf, newName, removed, sql, variablesOf } from '../agents.ts';
import type { Fault } from '../fault.ts';

const LOGINS = `select usename from pg_stat_activity where datname = 'gx' and client_addr is not null and usename <> 'gx_admin' limit 1`;

export const wrongPassword: Fault = {
  name: 'a database that has another password than its agents',
  plant: async (scene) => {
    const name = newName('password');
    await deployed(scene, name);
    const login = (await sql(scene, name, LOGINS)).trim();
    await sql(
      scene,
      name,
      `alter role "${login}" password 'of-somebody-else'`,
      `select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = '${login}'`,
    );
    return {
      labels: labelsOf(name),
      variables: variablesOf(name),
      isCured: () => isReady(scene, name),
      remove: () => removed(scene, name),
    };
  },
  found: { alert: 'GxDatabaseAway', seconds: 60 },
  page: { file: 'database-away.md', entry: 'somebody changed it in the database' },
  cured: { seconds: 120 },
};
