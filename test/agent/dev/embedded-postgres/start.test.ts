import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import {
  startPostgres,
  type EmbeddedPostgres,
} from '../../../../src/agent/dev/embedded-postgres/start.ts';
import { StartError } from '../../../../src/errors.ts';
import { until } from '../../../kit/until.ts';
import { freshDatabase } from '../../../kit/postgres.ts';

const START = new URL('../../../../src/agent/dev/embedded-postgres/start.ts', import.meta.url).href;

const home = mkdtempSync(path.join(tmpdir(), 'gx-embedded-'));
chmodSync(home, 0o755);
afterAll(() => rm(home, { recursive: true, force: true }));

const start = (name: string): Promise<EmbeddedPostgres> =>
  startPostgres({ folder: path.join(home, name), owner: 'this test', durable: false });

async function ask(uri: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: uri });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

const answers = (uri: string): Promise<boolean> =>
  ask(uri, 'select 1').then(
    () => true,
    () => false,
  );

/** A process that starts Postgres, prints its URI and keeps running. */
async function startElsewhere(name: string): Promise<{ uri: string; kill(): Promise<void> }> {
  const options = JSON.stringify({
    folder: path.join(home, name),
    owner: 'the other process',
    durable: false,
  });
  const code = `import(${JSON.stringify(START)}).then(m => m.startPostgres(${options})).then(s => { console.log(s.uri); setInterval(() => {}, 1e6); })`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const kill = async (): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return { uri: line.toString().trim(), kill };
}

describe('embedded Postgres', () => {
  test('keeps its data from one start to the next', async () => {
    const first = await start('kept');
    await ask(first.uri, 'create table kept as select 42 as answer');
    await first.stop();
    expect(await answers(first.uri)).toBe(false);
    const second = await start('kept');
    expect(await ask(second.uri, 'select answer from kept')).toEqual([{ answer: 42 }]);
    await second.stop();
  });

  test('refuses a connection without its password', async () => {
    const server = await start('locked');
    expect(await answers(server.uri.replace(/:[^:@/]+@/, ':wrong@'))).toBe(false);
    expect(lstatSync(path.join(home, 'locked', 'password')).mode & 0o077).toBe(0);
    await server.stop();
  });

  test('names the process that has the data to one that starts later', async () => {
    const server = await start('busy');
    const refusal = await start('busy').catch((error: unknown) => error as Error);
    expect(refusal).toBeInstanceOf(StartError);
    expect((refusal as Error).message).toContain(`this test (process ${process.pid})`);
    expect(await answers(server.uri)).toBe(true);
    await server.stop();
  });

  test('lets one of two that start together have it', async () => {
    const both = await Promise.allSettled([start('together'), start('together')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const one of both) if (one.status === 'fulfilled') await one.value.stop();
  });

  test('ends when its starter is killed, and the next start takes the data over', async () => {
    const other = await startElsewhere('orphan');
    await ask(other.uri, 'create table kept as select 42 as answer');
    await other.kill();
    const server = await start('orphan');
    expect(await ask(server.uri, 'select answer from kept')).toEqual([{ answer: 42 }]);
    expect(await answers(other.uri)).toBe(false);
    await server.stop();
  });

  test('takes over data whose lock names a process that is another program now', async () => {
    await (await start('stale')).stop();
    const data = path.join(realpathSync(path.join(home, 'stale')), 'data');
    writeFileSync(
      path.join(data, 'postmaster.pid'),
      `${process.pid}\n${data}\n1\n1\n\n127.0.0.1\n`,
    );
    const server = await start('stale');
    expect(await answers(server.uri)).toBe(true);
    await server.stop();
  });

  test('says so when it ends by itself', async () => {
    const server = await start('crashed');
    const pid = Number(
      readFileSync(path.join(home, 'crashed', 'data', 'postmaster.pid'), 'utf8').split('\n')[0],
    );
    process.kill(pid, 'SIGKILL');
    await server.ended;
    const again = await until('the data can be used again', () => start('crashed'), 40);
    expect(await answers(again.uri)).toBe(true);
    await again.stop();
  });

  test.runIf(process.getuid?.() === 0)(
    'keeps its data elsewhere when its account may not go to the folder',
    async () => {
      const hidden = path.join(mkdtempSync(path.join(home, 'hidden-')), 'postgres');
      const server = await startPostgres({ folder: hidden, owner: 'this test', durable: false });
      expect(await answers(server.uri)).toBe(true);
      await server.stop();
      expect(lstatSync(hidden).isSymbolicLink()).toBe(true);
      await rm(realpathSync(hidden), { recursive: true });
    },
  );
});

describe('a database for tests', () => {
  test('has the schema of the agent server, and nothing of another test', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);
    await one.sql('create table only_here (n integer)');
    expect(await other.sql(`select 1 from pg_tables where tablename = 'only_here'`)).toEqual([]);
    expect(await other.sql(`select count(*) > 0 as migrated from gx.migration`)).toEqual([
      { migrated: true },
    ]);
    await Promise.all([one.drop(), other.drop()]);
  });

  test('is empty when asked', async () => {
    const empty = await freshDatabase({ migrated: false });
    expect(await empty.sql(`select 1 from pg_namespace where nspname = 'gx'`)).toEqual([]);
    await empty.drop();
  });
});
