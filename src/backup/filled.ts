import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { RestoreJobConfig } from '../config/jobs/restore-job.ts';
import { listMissingKeys } from '../schema/agent/aes-key-id.ts';
import { ask, OWN_DATABASE, buildPsqlCommand } from '../schema/wire/database-session.ts';
import type { RestoreDone } from '../schema/wire/restore-message.ts';
import { chooseCatalogueEntry } from './choose.ts';
import { getBackupFolder } from './folder.ts';
import { readFinalSql, QUIET_SQL } from './last-sql.ts';
import { parseMarker } from './marker.ts';
import { giveUp, writeOrder } from './pipe.ts';
import { buildScriptRunner, type Ran } from './runner.ts';
import { BackupFailed } from './s3/failure.ts';
import { openBackupStore } from './store.ts';

/** Attempts to connect, and milliseconds between two: the network may admit a new pod some seconds after its start. */
const ATTEMPTS = 60;
const PAUSE = 1000;
/** The exit status of psql that has no connection. */
const NO_CONNECTION = 2;

/** The state of the database, its keys of encryption, and the moment up to which the log was applied: one a line. */
const LOOK = ask(OWN_DATABASE, {
  args: `-c "$STATE" \\
  -c "select coalesce(pg_catalog.string_agg(key_id, ' '), '') from gx.encryption_key" \\
  -c "select coalesce(pg_catalog.shobj_description(oid, 'pg_database'), '') from pg_catalog.pg_database where datname = pg_catalog.current_database()"`,
});

/** All in one transaction: a copy that is to be quiet is never seen before it is. */
const TAKE = `asked() { for file in "$SQL"/*; do [ ! -f "$file" ] || { cat "$file" && echo; } || return 1; done; }
{ echo 'begin;' && cat ../orders/first.sql && asked && cat ../orders/marker.sql && echo 'commit;'; } > all.sql &&
  ${buildPsqlCommand(OWN_DATABASE, { args: '--file=all.sql' })} > /dev/null`;

/** The comment of gx-postgres on a database that it has filled. */
const FILLED = /^filled up to (\S*)/;

/** Makes a database that was filled with a copy of files the deployment's own, and returns the moment of its data. */
export async function takeFilled(
  { order, keys: credential, mount, encryptionKeys, pipe, pauses }: RestoreJobConfig,
  signal: AbortSignal,
): Promise<RestoreDone> {
  const run = buildScriptRunner(pipe, signal);
  const [state = '', keys = '', comment = ''] = (
    await runUntilConnected(() => run(LOOK), signal)
  ).output.split('\n');
  const marker = parseMarker(state);
  const backup = `${order.owner.id}/${order.name}`;
  if (marker?.restoredInto !== order.into) {
    const [, until] = FILLED.exec(comment) ?? [];
    if (until === undefined)
      throw new BackupFailed(
        'RestoreFailed',
        'The database was not filled with the copy. None of it was changed.',
      );
    const missing = listMissingKeys(keys.split(' ').filter(Boolean), encryptionKeys);
    if (missing.length > 0)
      throw new BackupFailed(
        'KeysMissing',
        `The data is encrypted with keys that GX_AES_KEY does not hold: ${missing.join(', ')}.`,
      );
    // Without a transaction after the copy, its data is that of its end.
    const store = openBackupStore(order.target, credential, mount, signal, pauses);
    const from =
      until === ''
        ? (await chooseCatalogueEntry(store, getBackupFolder(order.target, order.owner), order))
            .from
        : until;
    const done = { backup, from };
    await writeOrder(pipe, 'first.sql', order.resume ? '' : await readFile(QUIET_SQL, 'utf8'));
    await writeOrder(pipe, 'marker.sql', await readFinalSql({ ...done, restoredInto: order.into }));
    const { status, words } = await run(TAKE);
    if (status !== 0) throw new BackupFailed('RestoreFailed', words);
    await giveUp(pipe);
    return done;
  }
  await giveUp(pipe);
  return { backup: marker.backup, from: marker.from };
}

/** Runs a script until it has had a connection. */
async function runUntilConnected(run: () => Promise<Ran>, signal: AbortSignal): Promise<Ran> {
  for (let attempt = 1; ; attempt += 1) {
    const ran = await run();
    if (ran.status === 0) return ran;
    if (ran.status !== NO_CONNECTION || attempt === ATTEMPTS)
      throw new BackupFailed('RestoreFailed', ran.words);
    await wait(PAUSE, undefined, { signal });
  }
}
