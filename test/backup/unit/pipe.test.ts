import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readDumpFacts, requireWhole } from '../../../src/backup/dump.ts';
import { writeDump, readDatabaseState, requireRestored } from '../../../src/backup/feed.ts';
import { readErrorOutput, openDump, readAnswer } from '../../../src/backup/pipe.ts';
import { buildScriptRunner } from '../../../src/backup/runner.ts';
import { runAndReport, redactSecrets } from '../../../src/backup/termination.ts';
import { BackupFailed } from '../../../src/backup/s3/failure.ts';
import { newPipe } from '../dump-double.ts';

/* The other container runs programs on a tenant's data. Here it is the tenant's: it leaves answers that are none. */

const SECRET = 'secret-of-the-store';
const { signal } = new AbortController();
let pipe: string;
let secret: string;
const answer = (name: string): string => join(pipe, 'answers', name);

beforeEach(async () => {
  pipe = await newPipe();
  secret = join(pipe, 'environ');
  await writeFile(secret, `GX_BACKUP_SECRET_ACCESS_KEY=${SECRET}`);
});
afterEach(() => rm(pipe, { recursive: true }));

const end = (): Promise<void> => writeFile(answer('end'), '3\n');
const readers: [string, string[], () => Promise<unknown>][] = [
  ['the end of a dump', ['end'], () => requireWhole(pipe, signal, 1000)],
  ['the facts of a dump', ['facts', 'counts'], () => readDumpFacts(pipe)],
  ['the state of a database', ['found'], () => readDatabaseState(pipe, signal)],
  ['the end of a restore', ['end'], () => requireRestored(pipe, signal)],
  ['the rows of a verification', ['counted'], () => readAnswer(pipe, 'counted')],
  [
    'the output of a script',
    ['1.end', '1.out', '1.error'],
    () => buildScriptRunner(pipe, signal)('true'),
  ],
];

test.each(readers)(
  '%s is read from no link: what it leads to stays unread',
  async (_what, names, read) => {
    for (const name of names) await symlink(secret, answer(name));
    const error = (await read().catch((thrown: unknown) => thrown)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toContain('is a link');
    expect(error.message).not.toContain(SECRET);
  },
);

test.each(readers)(
  '%s is no pipe and no folder, and holds nobody up',
  async (_what, names, read) => {
    for (const name of names) execFileSync('mkfifo', [answer(name)]);
    await expect(read()).rejects.toThrow('is not a regular file');
    for (const name of names) {
      await rm(answer(name));
      await mkdir(answer(name));
    }
    await expect(read()).rejects.toThrow('is not a regular file');
  },
);

test('the words of a failure are not those of a file that a link names', async () => {
  await symlink(secret, answer('error'));
  await end();
  expect(await readErrorOutput(pipe)).toBe('');
  await expect(requireRestored(pipe, signal)).rejects.toThrow(
    'The database took nothing (status 3).',
  );
});

test('an answer that is longer than any is not read', async () => {
  await writeFile(answer('counted'), Buffer.alloc(5 * 1_048_576, 'a'));
  await expect(readAnswer(pipe, 'counted')).rejects.toThrow('is longer than');
});

test.each(['read', 'write'] as const)(
  'the pipe of a dump that is a link or a file is not opened to %s',
  async (way) => {
    await symlink(secret, answer('dump'));
    await expect(openDump(pipe, way)).rejects.toThrow('is not a pipe');
    await rm(answer('dump'));
    await writeFile(answer('dump'), 'untouched');
    const bytes = (async function* pieces() {
      yield await Promise.resolve(Buffer.from('the data'));
    })();
    await expect(
      way === 'read'
        ? openDump(pipe, way)
        : writeDump(pipe, bytes, { name: 'x', sha256: '' } as never),
    ).rejects.toThrow('is not a pipe');
    expect(await readFile(answer('dump'), 'utf8')).toBe('untouched');
  },
);

test('words that hold a secret of this container leave the pod without it, in each form in which a program prints one', async () => {
  const keys = { accessKeyId: 'AKIA-OF/THE+TENANT', secretAccessKey: SECRET };
  const encryptionKeys = [Buffer.alloc(32, 7).toString('base64')];
  const forms = Object.values(keys).flatMap((key) => [
    key,
    encodeURIComponent(key),
    Buffer.from(key).toString('base64'),
  ]);
  const terminationLog = join(pipe, 'termination');
  const words = [...forms, ...encryptionKeys].join(' ');
  await runAndReport(
    { pipe, copier: pipe, terminationLog, keys, encryptionKeys },
    {
      reason: 'RestoreFailed',
      what: 'It',
      signal,
      work: () => Promise.reject(new BackupFailed('RestoreFailed', `no: ${words}`)),
    },
  );
  process.exitCode = undefined;
  const message = JSON.parse(await readFile(terminationLog, 'utf8')) as { message: string };
  expect(message.message).toMatch(/^no: (\(removed\) ?)+$/);
  expect(redactSecrets('nothing of it', ['', SECRET])).toBe('nothing of it');
});
