import { buildPsqlCommand, SQL_OF_DUMP } from '../../schema/wire/database-session.ts';

/**
 * The beginning of a script that restores. Its answers are files of the folder in which it runs; it can only read the
 * orders beside it. A failure is reported by the file `end`, which comes last.
 */
export const BEGIN_RESTORE = `cd "$PIPE/answers" && mkfifo dump || exit 1
ends() { echo "$1" > ended && mv ended end; exit "$1"; }`;

/** Seconds for which a connection that is refused is tried again. */
const ADMISSION_SECONDS = 60;

/**
 * Asks the database. The network may admit a new pod some seconds after its start, and refuse its
 * connections until then, so a connection that fails (status 2) is tried again.
 */
export const askUntilAdmitted = (question: string): string => `tries=0
until ${question}; do
  [ $? = 2 ] && [ ! -e ../orders/stop ] && [ "$tries" -lt ${ADMISSION_SECONDS} ] || ends 2
  tries=$((tries + 1))
  sleep 1
done`;

/**
 * Restores the dump that comes through the pipe, in one transaction, with the output of `last` at its end. It is
 * committed only if pg_restore succeeded and the other container has found all bytes to be those of the backup. A
 * connection that ends before leaves nothing behind.
 */
export const restoreDump = (
  address: string,
  last = '',
): string => `while [ ! -e ../orders/go ]; do [ ! -e ../orders/stop ] || exit 0; sleep 0.2; done
whole() { while [ ! -e ../orders/whole ]; do [ ! -e ../orders/stop ] || return 1; sleep 0.2; done; }
{
  echo 'begin;'
  ${SQL_OF_DUMP} < dump 2> restored &&
    whole && ${last}echo 'commit;' && : > committed
} | ${buildPsqlCommand(address)} > /dev/null 2> error
status=$?
[ "$status" != 0 ] || [ -e committed ] || status=1
cat restored >> error`;
