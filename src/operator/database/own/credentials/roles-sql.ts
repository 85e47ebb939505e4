import { ADMIN, OWNER, SUPERUSER } from './sql.ts';

/** The role that has all rights while the roles are being separated, and exists only then. */
const MOVER = 'gx_mover';

/**
 * Returns the statements that give today's roles to a database whose first login was its superuser, in one transaction.
 * The superuser gets another name and no password; the old name and password go to a role that owns the data and has no
 * other right; a third role may set passwords (psql's variable `verifier` is that role's). Sessions end, and new ones
 * wait for the transaction, so that none continues as a superuser. Extensions stay the superuser's.
 *
 * Postgres keeps the role that made the cluster as it is ("the bootstrap superuser must have the SUPERUSER attribute";
 * REASSIGN OWNED refuses it). So it is renamed, and each object is handed over. The mover does this, because a role
 * can't rename itself.
 */
export const separationSql = (owner = OWNER, admin = ADMIN, superuser = SUPERUSER): string => `
begin;
lock table pg_authid in access exclusive mode;
select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid();
do $do$
declare
  known record;
  statement text;
begin
  if (select oid from pg_roles where rolname = '${owner}') <> 10 then raise exception '${owner} is not the superuser of old'; end if;
  select rolpassword, rolcanlogin into known from pg_authid where oid = 10;
  create role ${MOVER} superuser;
  if session_user = '${owner}' then
    set session authorization ${MOVER};
  else
    execute format('grant ${MOVER} to %I', session_user);
    set role ${MOVER};
  end if;
  alter role ${owner} rename to ${superuser};
  alter role ${superuser} login password null;
  execute format('create role ${owner} %s password %L', case when known.rolcanlogin then 'login' else 'nologin' end, known.rolpassword);
  ${handOver(owner)}
  if exists (select from pg_available_extensions where name = 'vector') then create extension if not exists vector; end if;
  create role ${admin} createrole login;
  grant ${owner} to ${admin} with admin true, inherit false, set false;
  grant pg_signal_backend to ${admin};
  for statement in select format('grant ${owner} to %1$I; grant %1$I to ${admin} with admin true, inherit false, set false; revoke ${superuser} from %1$I', member::regrole)
    from pg_auth_members where roleid = 10
  loop execute statement; end loop;
end $do$;
alter role ${admin} password :'verifier';
reset session authorization;
drop owned by ${MOVER};
drop role ${MOVER};
commit;`;

/** Hands over everything that belongs to the bootstrap superuser, except what is the system's or an extension's. */
const handOver = (owner: string): string => `
  for statement in
    with foreign_to as (select classid, objid from pg_depend where deptype = 'e')
    select format('alter database %I owner to ${owner}', current_database())
    union all select format('alter schema %I owner to ${owner}', nspname) from pg_namespace
      where nspowner = 10 and oid >= 16384 and nspname !~ '^pg_' and ('pg_namespace'::regclass, oid) not in (select * from foreign_to)
    union all select format('alter table %s owner to ${owner}', oid::regclass) from pg_class
      where relowner = 10 and oid >= 16384 and relkind in ('r', 'p', 'v', 'm', 'f') and relnamespace <> 'pg_toast'::regnamespace
        and ('pg_class'::regclass, oid) not in (select * from foreign_to)
    union all select format('alter sequence %s owner to ${owner}', oid::regclass) from pg_class sequence
      where relowner = 10 and oid >= 16384 and relkind = 'S' and ('pg_class'::regclass, oid) not in (select * from foreign_to)
        and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = sequence.oid and deptype in ('a', 'i'))
    union all select format('alter type %s owner to ${owner}', format_type(oid, null)) from pg_type kind
      where typowner = 10 and oid >= 16384 and typtype in ('b', 'c', 'd', 'e', 'r') and typcategory <> 'A'
        and (typrelid = 0 or exists (select from pg_class where oid = kind.typrelid and relkind = 'c'))
        and ('pg_type'::regclass, oid) not in (select * from foreign_to)
    union all select format('alter routine %s owner to ${owner}', oid::regprocedure) from pg_proc
      where proowner = 10 and oid >= 16384 and ('pg_proc'::regclass, oid) not in (select * from foreign_to)
    union all select format('alter statistics %I.%I owner to ${owner}', stxnamespace::regnamespace, stxname) from pg_statistic_ext
      where stxowner = 10
    union all select format('alter large object %s owner to ${owner}', oid) from pg_largeobject_metadata where lomowner = 10
  loop execute statement; end loop;`;
