import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lockExpiredRuns } from '../../src/agent/db/runs/leases.ts';
import { openDatabase } from '../../src/agent/db/base/pool.ts';
import {
  startPostgres,
  type EmbeddedPostgres,
} from '../../src/agent/dev/embedded-postgres/start.ts';
import { silentLog } from '../kit/log.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';

/*
 * A database becomes read-only, as its guard makes it when its volume is full (docs/reference/database.md), and takes
 * writes again. It belongs to a Postgres of its own, not to that of kit/postgres, because the setting applies to a
 * whole server.
 */
const DETAIL =
  'The database accepts no writes, because its volume is full or someone made it read-only; reads still work. Try again later.';
const LEASE = 4;
/** The seconds, at least, for which the database takes no writes. */
const LEAST_READ_ONLY = 1.5 * LEASE;
let folder: string;
let postgres: EmbeddedPostgres;
let sql: Pool;
let agent: AgentProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-full-'));
  postgres = await startPostgres({ folder, owner: 'a test of a full database', durable: false });
  sql = new Pool({
    connectionString: postgres.uri,
    max: 1,
    options: '-c default_transaction_read_only=off',
  });
  sql.on('error', () => undefined);
  agent = await start();
});
afterAll(async () => {
  await agent.kill();
  await sql.end();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

const start = (): Promise<AgentProcess> =>
  startAgent({
    database: postgres.uri,
    env: { GX_JOB_LEASE_SECS: String(LEASE), N_JOBS_PER_WORKER: '3' },
  });

/** The setting as the guard writes it. */
async function takesWrites(does: boolean): Promise<void> {
  const setting = 'default_transaction_read_only';
  await sql.query(`alter system ${does ? `reset ${setting}` : `set ${setting} = 'yes'`}`);
  await sql.query('select pg_reload_conf()');
  await until('the server has heard it', async () => {
    const { status } = await post('/threads', {});
    return does ? status === 200 : status === 503;
  });
}
const post = async (path: string, body: object): Promise<{ status: number; detail?: string }> => {
  const response = await fetch(`${agent.url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const { detail } = (await response.json()) as { detail?: string };
  return { status: response.status, ...(detail !== undefined && { detail }) };
};
/** Returns the metrics `gx_database_*`, by the rest of the name. */
const figures = async (): Promise<Map<string, number>> => {
  const text = await (await fetch(`${agent.url}/metrics`)).text();
  return new Map(
    [...text.matchAll(/^gx_database_(\w+)\{.*\} (\S+)$/gm)].map(([, name, value]) => [
      name!,
      Number(value),
    ]),
  );
};
const run = async (id: string): Promise<{ status: string; lost: number; attempt: number }> => {
  const { rows } = await sql.query<{ status: string; lost: number; attempt: number }>(
    'select status, lost, attempt from gx.run where run_id = $1',
    [id],
  );
  return rows[0] as { status: string; lost: number; attempt: number };
};

test('a database that takes no writes is read, refuses what writes with a sentence, and loses no run', async () => {
  const { client } = agent;
  const { thread_id } = await client.threads.create();
  // The node of the first run works all the while. The second waits behind it. The third has to write while it can't.
  const silent = await client.runs.create(thread_id, 'steps', {
    input: { left: 1, pause: 2 * LEAST_READ_ONLY * 1000 },
  });
  const behind = await client.runs.create(thread_id, 'steps', {
    input: { left: 1 },
    multitaskStrategy: 'enqueue',
  });
  const other = await client.threads.create();
  const writing = await client.runs.create(other.thread_id, 'steps', {
    input: { left: 15, pause: 800 },
  });
  await until(
    'both run',
    async () =>
      (await run(silent.run_id)).status === 'running' &&
      (await run(writing.run_id)).status === 'running',
  );
  await takesWrites(false);
  const since = Date.now();

  expect(await post('/threads', {})).toEqual({ status: 503, detail: DETAIL });
  expect(await post(`/threads/${thread_id}/runs`, { assistant_id: 'steps', input: {} })).toEqual({
    status: 503,
    detail: DETAIL,
  });
  expect(await post('/runs/wait', { assistant_id: 'steps', input: {} })).toEqual({
    status: 503,
    detail: DETAIL,
  });
  expect((await client.threads.get(thread_id)).thread_id).toBe(thread_id);
  expect(await client.threads.getState(thread_id)).toBeDefined();
  expect((await client.threads.search({ limit: 10 })).length).toBeGreaterThan(1);
  expect((await client.runs.list(thread_id)).map(({ run_id }) => run_id)).toContain(silent.run_id);
  expect((await fetch(`${agent.url}/ok`)).status).toBe(200);
  // The metrics may repeat an earlier answer of the database for ten seconds.
  await until('its figures say so', async () => (await figures()).get('read_only') === 1, 60);

  // The wait is longer than a lease. No worker may be taken for dead only because it could not renew its lease.
  await until('a lease has run out', () => Date.now() - since > LEAST_READ_ONLY * 1000);
  expect(agent.process.exitCode).toBeNull();
  expect(await run(writing.run_id)).toMatchObject({ status: 'running' });
  expect(await run(behind.run_id)).toMatchObject({ status: 'pending' });
  await takesWrites(true);

  for (const { run_id } of [silent, behind, writing])
    await until(
      'it ends',
      async () => ['success', 'error'].includes((await run(run_id)).status),
      60,
    );
  expect(await client.threads.getState(other.thread_id)).toMatchObject({
    values: { done: 15, left: 0 },
  });
  // A refused write uses up one life at most.
  for (const { run_id } of [silent, behind, writing]) {
    const { status, lost } = await run(run_id);
    expect([status, lost <= 1]).toEqual(['success', true]);
  }
});

test('a server starts on it, and answers what can be read', async () => {
  const { thread_id } = await agent.client.threads.create();
  await takesWrites(false);
  await agent.kill();
  agent = await start();
  expect((await agent.client.threads.get(thread_id)).thread_id).toBe(thread_id);
  expect(await post('/threads', {})).toEqual({ status: 503, detail: DETAIL });
  await takesWrites(true);
  expect(await agent.client.runs.wait(thread_id, 'steps', { input: { left: 2 } })).toMatchObject({
    done: 2,
  });
});

/** A lease in seconds that no slow machine lets run out between two statements. */
const MUCH = 10;

test('a worker that could not write that it lives has the time of a lease for it, before another one takes its runs', async () => {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'steps', {
    input: {},
    afterSeconds: 3600,
  });
  const db = openDatabase(
    { uri: postgres.uri, poolSize: 1, statementTimeoutSeconds: 60, name: 'test' },
    silentLog(),
  );
  await until('the server itself has run for longer', async () => {
    const { rows } = await sql.query<{ age: number }>(
      'select extract(epoch from now() - pg_postmaster_start_time())::int as age',
    );
    return (rows[0]?.age ?? 0) > MUCH;
  });
  await takesWrites(false);
  await takesWrites(true);
  // The transaction is undone so that the server takes up nothing.
  const undone = db.transaction(async (tx) => {
    await tx.query({
      text: `update gx.run set status = 'running', lease_until = now() - interval '1 hour' where run_id = $1`,
      values: [run_id],
    });
    const found = async (leaseSeconds: number): Promise<string[]> =>
      (await lockExpiredRuns(tx, { leaseSeconds })).map((lost) => lost.run_id);
    expect(await found(MUCH)).toEqual([]);
    expect(await found(0)).toEqual([run_id]);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  await db.close();
});

test('the figures of a database are all there, told in docs, and those of one that is gone neither hang nor fail a scrape', async () => {
  const page = readFileSync('docs/reference/metrics.md', 'utf8');
  // The operator has other metrics of databases, which stand in its own part.
  const told = page.slice(page.indexOf('## Agent server'), page.indexOf('## Control plane'));
  const known = await until('the database answers in time', async () => {
    const found = await figures();
    return found.get('up') === 1 && found;
  });
  expect([...known.keys()].filter((name) => !told.includes(`\`gx_database_${name}\``))).toEqual([]);
  expect(
    [...told.matchAll(/`gx_database_(\w+)`/g)]
      .map(([, name]) => name!)
      .filter((name) => !known.has(name)),
  ).toEqual([]);
  expect([...known.values()].filter((value) => !(value >= 0))).toEqual([]);
  expect(known.get('connections')).toBeGreaterThan(1);
  expect(known.get('connections_max')).toBeGreaterThan(known.get('connections') ?? Infinity);
  expect(known.get('rows_live')).toBeGreaterThan(0);
  expect(known.get('size_bytes')).toBeGreaterThan(1_000_000);
  await postgres.stop();
  await until('it is told', async () => (await figures()).get('up') === 0, 60);
  expect(Number.isNaN((await figures()).get('connections'))).toBe(true);
});
