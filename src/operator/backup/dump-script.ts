import { ask, buildDumpCommand, OWN_DATABASE } from '../../schema/wire/database-session.ts';

/** Asks for the newest migration of a database's schema. */
export const MIGRATION = 'select coalesce(pg_catalog.max(number), 0) from gx.migration;';

/** Facts about the database, one a line. The program that sends a backup reads them in this order. */
export const FACTS = [
  'show server_version',
  MIGRATION.slice(0, -1),
  'select coalesce(pg_catalog.max(major), 0) from gx.migration',
  `select coalesce(pg_catalog.string_agg(key_id, ' ' order by key_id), '') from gx.encryption_key`,
  `select pg_catalog.to_char(pg_catalog.now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
]
  .map((query) => `${query};`)
  .join('\n');

/**
 * Counts the rows of each table, with a checksum of their keys that does not depend on their order. psql makes the
 * queries first, because each table has keys of its own. Tables that a dump leaves empty are not counted.
 */
export const COUNTS = String.raw`select pg_catalog.format(
  'select %L, pg_catalog.count(*), coalesce(pg_catalog.sum(pg_catalog.hashtextextended(%s, 0)), 0) from gx.%I', 'gx.' || c.relname,
  coalesce((select pg_catalog.string_agg(pg_catalog.format('%I::pg_catalog.text', a.attname), ' || ''/'' || ' order by a.attnum)
    from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = c.oid and i.indisprimary), ''''''), c.relname)
  from pg_catalog.pg_class c where c.relnamespace = 'gx'::pg_catalog.regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
  order by c.relname \gexec`;

/**
 * Dumps into a pipe, once the other container says that the target takes it. Nothing is written to a disk. One session
 * holds the snapshot that facts, counts and dump are of. The exit status comes last, so that a dump that was cut off is
 * never taken for a whole one.
 */
export const DUMP = String.raw`cd "$PIPE/answers" && mkfifo dump session || exit 1
while [ ! -e ../orders/go ]; do [ ! -e ../orders/stop ] || exit 0; sleep 0.2; done
trap '' PIPE
ask() { ${ask(OWN_DATABASE)}; }
ask < session > /dev/null 2> error &
holder=$!
exec 3> dump 4> session
printf '%s\n' 'begin isolation level repeatable read; select pg_catalog.pg_export_snapshot() \g snapshot' >&4
while [ ! -s snapshot ] && kill -0 "$holder" 2> /dev/null; do sleep 0.1; done
within() {
  printf "begin isolation level repeatable read; set transaction snapshot '%s';\n%s\n" "$(cat snapshot)" "$1" | ask 2>> error
}
[ -s snapshot ] && within "$FACTS" > facts && within "$COUNTS" > counts &&
  ${buildDumpCommand(OWN_DATABASE, '--format=custom --compress=zstd:1 --no-unlogged-table-data --lock-wait-timeout=60s --snapshot="$(cat snapshot)"')} >&3 2>> error
status=$?
exec 3>&- 4>&-
echo $status > ended && mv ended end
exit $status`;
