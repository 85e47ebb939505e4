import { OWNER } from '../../../../schema/wire/database-session.ts';

/**
 * The role that sets passwords and ends sessions, and reads no data. The image makes it with the database, beside the
 * owner of the data and a superuser that has no password.
 */
export const ADMIN = 'gx_admin';

/** Returns the login of the nth password: the owner itself, then two that take turns. */
export const getLogin = (number: number, owner = OWNER): string =>
  number === 0 ? owner : `${owner}_${number % 2 === 1 ? 'a' : 'b'}`;

/**
 * Returns the statements by which the admin gives a login a password (psql's variable `verifier`). The login acts as
 * the owner from its first statement on, so that both logins own every table. Running them twice changes nothing.
 */
export const setSql = (login: string, owner = OWNER): string => `
  do $do$ begin
    if not exists (select from pg_catalog.pg_roles where rolname = '${login}') then create role ${login}; end if;
  end $do$;
  ${login === owner ? '' : `grant ${owner} to ${login}; alter role ${login} set role = '${owner}';`}
  alter role ${login} login password :'verifier';`;

/** Returns the statements by which the admin closes a login and ends its sessions. Its objects stay. */
export const buildRetireSql = (login: string): string => `
  alter role ${login} nologin password null;
  select pg_catalog.count(pg_catalog.pg_terminate_backend(pid)) from pg_catalog.pg_stat_activity
    where usename = '${login}' and pid <> pg_catalog.pg_backend_pid();`;

/** Returns the statements by which the admin gives a login a password, and closes all others that there are. */
export const adoptSql = (login: string, owner = OWNER): string => `${setSql(login, owner)}
  do $do$ declare other pg_catalog.name; begin
    for other in select rolname from pg_catalog.pg_roles where rolname in ('${[0, 1, 2].map((number) => getLogin(number, owner)).join("', '")}') and rolname <> '${login}' loop
      execute pg_catalog.format('alter role %I nologin password null', other);
    end loop;
  end $do$;`;
