import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

/* Whom a database lets in, by its image's own script on a volume that exists. Postgres itself is left out. */

const SCRIPT = 'dev/images/postgres/gx-postgres';
const TLS = ['-c', 'ssl=on'];
const OWN = 'host all all 127.0.0.1/32 scram-sha-256';
let folder: string;
let data: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gx-postgres-'));
  data = join(folder, 'volume', 'pgdata');
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'PG_VERSION'), '17\n');
  for (const [name, text] of Object.entries({ postgres: 'exit 0', df: 'echo Avail; echo 1000M' })) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
});
afterEach(() => rmSync(folder, { recursive: true }));

const had = (door: string): void => writeFileSync(join(data, 'pg_hba.conf'), `${OWN}\n${door} all all all scram-sha-256\n`);

/** Starts the database, and returns the kind of connection that the network is let in by. */
async function started(...args: string[]): Promise<string> {
  await promisify(execFile)('sh', [SCRIPT, ...args], { env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, PGDATA: data } });
  const lines = readFileSync(join(data, 'pg_hba.conf'), 'utf8').trim().split('\n');
  expect(lines[0]).toBe(OWN);
  return lines[1]?.split(' ')[0] ?? '';
}

function aDayLater(): void {
  const then = new Date(Date.now() - 2 * 86_400_000);
  utimesSync(join(folder, 'volume', 'tls-since'), then, then);
}

test('a database of an earlier version lets agents in without TLS on the day it first serves it, and from then on nobody', async () => {
  had('host');
  expect(await started(...TLS)).toBe('host');
  expect(await started(...TLS)).toBe('host');
  aDayLater();
  expect(await started(...TLS)).toBe('hostssl');
});

test('a database that was made with TLS keeps letting nobody in without it', async () => {
  had('hostssl');
  expect(await started(...TLS)).toBe('hostssl');
});

test('a database that serves no TLS any more lets its agents in', async () => {
  had('hostssl');
  expect(await started()).toBe('host');
});
