import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RESTORE } from '../../../../src/operator/backup/restore-job.ts';
import { until } from '../../../kit/until.ts';

/*
 * The script of the container that restores, with doubles of psql and pg_restore. A test says what the other container
 * would. What psql reads is what Postgres would do; without its last line, Postgres keeps nothing.
 */
let folder: string;
let script: ChildProcess;
const at = (name: string): string => path.join(folder, name);
const read = (name: string): string =>
  existsSync(at(name)) ? readFileSync(at(name), 'utf8').trim() : '';
const program = (name: string, text: string): void => {
  writeFileSync(at(`bin/${name}`), `#!/bin/sh\n${text}\n`);
  chmodSync(at(`bin/${name}`), 0o755);
};

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-restore-'));
  mkdirSync(at('bin'));
  for (const way of ['', '/orders', '/answers']) mkdirSync(at(`pipe${way}`));
  program('psql', `case "$*" in *-c*) printf '17.6\\nempty\\n' ;; *) cat > ${at('said')} ;; esac`);
  program('pg_restore', 'cat');
});
afterEach(() => {
  script.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function run(): void {
  const env = {
    PATH: `${at('bin')}:/usr/bin:/bin`,
    PIPE: at('pipe'),
    SQL: at('sql'),
    STATE: 'select 1',
    ADDRESS_FILE: at('address'),
  };
  writeFileSync(at('address'), 'postgresql://db');
  script = spawn('/bin/sh', ['-c', RESTORE], { env, stdio: 'inherit' });
}
async function begun(): Promise<void> {
  run();
  await until('it says what is in the database', () => existsSync(at('pipe/answers/found')), 5);
  expect(read('pipe/answers/found')).toBe('17.6\nempty');
  writeFileSync(at('pipe/orders/marker.sql'), 'the marker;\n');
}
const say = (name: string, text = ''): void =>
  writeFileSync(at(`pipe/${name === 'dump' ? 'answers' : 'orders'}/${name}`), text);
const ended = async (): Promise<string> => {
  if (script.exitCode === null) await once(script, 'exit');
  return read('pipe/answers/end');
};

test('all is one transaction, which is committed once the bytes were whole', async () => {
  await begun();
  say('quiet.sql', 'be quiet;\n');
  say('go');
  say('dump', 'the data;\n');
  say('whole');
  expect(await ended()).toBe('0');
  expect(read('said').split('\n')).toEqual([
    'begin;',
    'the data;',
    'be quiet;',
    'the marker;',
    'commit;',
  ]);
});

test('the SQL that a deployment asks for runs in the same transaction, file by file', async () => {
  mkdirSync(at('sql'));
  for (const name of ['20-mails.sql', '10-names']) writeFileSync(at(`sql/${name}`), `-- ${name}`);
  await begun();
  say('quiet.sql', 'be quiet;\n');
  say('go');
  say('dump', 'the data;\n');
  say('whole');
  expect(await ended()).toBe('0');
  expect(read('said').split('\n')).toEqual([
    'begin;',
    'the data;',
    'be quiet;',
    '-- 10-names',
    '-- 20-mails.sql',
    'the marker;',
    'commit;',
  ]);
});

test('bytes that were cut off, or are others, are never committed', async () => {
  await begun();
  say('go');
  say('dump', 'half of');
  say('stop');
  expect(await ended()).toBe('1');
  expect(read('said')).not.toContain('commit');
});

test('what pg_restore refuses is never committed, and its words are kept', async () => {
  program('pg_restore', 'cat > /dev/null; echo "pg_restore: error: not an archive" >&2; exit 1');
  await begun();
  say('go');
  say('dump', 'no dump');
  say('whole');
  expect(await ended()).toBe('1');
  expect(read('said')).toBe('begin;');
  expect(read('pipe/answers/error')).toContain('not an archive');
});

test('a statement that Postgres refuses ends it with the status and the words of psql', async () => {
  program(
    'psql',
    `case "$*" in *-c*) printf '17.6\\nempty\\n' ;; *) head -n 1 > /dev/null; echo "ERROR: no room" >&2; exit 3 ;; esac`,
  );
  await begun();
  say('go');
  say('dump', 'the data;\n');
  say('whole');
  expect(await ended()).toBe('3');
  expect(read('pipe/answers/error')).toContain('no room');
});

test('a connection that is refused at first, as of a pod that the network does not know yet, is tried again', async () => {
  program(
    'psql',
    `[ -e ${at('once')} ] || { : > ${at('once')}; echo "refused" >&2; exit 2; }; printf '17.6\\nempty\\n'`,
  );
  await begun();
  expect(read('pipe/answers/error')).toBe('');
});

test('a database that does not answer is asked until the other container gives up, and its words are kept', async () => {
  program('psql', 'echo "no connection" >&2; exit 2');
  say('stop');
  run();
  expect(await ended()).toBe('2');
  expect(read('pipe/answers/error')).toBe('no connection');
});

test('a question that Postgres refuses ends it at once', async () => {
  program('psql', 'echo "ERROR: no right" >&2; exit 1');
  run();
  expect(await ended()).toBe('2');
  expect(read('pipe/answers/error')).toBe('ERROR: no right');
});
