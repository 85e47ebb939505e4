/** Facts about the database, one a line. The program that sends a backup reads them in this order. */
export const FACTS = [
  'show server_version',
  'select coalesce(max(number), 0) from gx.migration',
  'select coalesce(max(major), 0) from gx.migration',
  `select coalesce(string_agg(key_id, ' ' order by key_id), '') from gx.encryption_key`,
  `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
]
  .map((query) => `${query};`)
  .join('\n');

/**
 * Counts the rows of each table, with a checksum of their keys that does not depend on their order. psql makes the
 * queries first, because each table has keys of its own. Names have their schema, whatever the session looks in. Tables
 * that a dump leaves empty are not counted.
 */
export const COUNTS = String.raw`select format('select %L, count(*), coalesce(sum(hashtextextended(%s, 0)), 0) from gx.%I', 'gx.' || c.relname,
  coalesce((select string_agg(format('%I::text', a.attname), ' || ''/'' || ' order by a.attnum)
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = c.oid and i.indisprimary), ''''''), c.relname)
  from pg_class c where c.relnamespace = 'gx'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
  order by c.relname \gexec`;

/**
 * Dumps into a pipe, once the other container says that the target takes it. Nothing is written to a disk. One session
 * holds the snapshot that facts, counts and dump are of. The exit status comes last, so that a dump that was cut off is
 * never taken for a whole one.
 */
export const DUMP = String.raw`cd "$PIPE" && mkfifo dump session || exit 1
while [ ! -e go ]; do [ ! -e stop ] || exit 0; sleep 0.2; done
trap '' PIPE
ask() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$ADDRESS"; }
ask < session > /dev/null 2> error &
holder=$!
exec 3> dump 4> session
printf '%s\n' 'begin isolation level repeatable read; select pg_export_snapshot() \g snapshot' >&4
while [ ! -s snapshot ] && kill -0 "$holder" 2> /dev/null; do sleep 0.1; done
within() {
  printf "begin isolation level repeatable read; set transaction snapshot '%s';\n%s\n" "$(cat snapshot)" "$1" | ask 2>> error
}
[ -s snapshot ] && within "$FACTS" > facts && within "$COUNTS" > counts &&
  pg_dump --format=custom --compress=zstd:1 --no-unlogged-table-data --lock-wait-timeout=60s \
    --snapshot="$(cat snapshot)" --dbname="$ADDRESS" >&3 2>> error
status=$?
exec 3>&- 4>&-
echo $status > ended && mv ended end
exit $status`;
