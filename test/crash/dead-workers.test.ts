import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { untilLocksCount } from '../kit/locks-count.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { linesOf } from '../kit/lines.ts';
import { until } from '../kit/until.ts';

/* How the database shows which workers live, and what becomes of the runs of a dead worker. */

let database: TestDatabase;
let agents: AgentProcess[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  await untilLocksCount(database);
});
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.kill('SIGKILL')));
  agents = [];
  await database.sql('delete from gx.worker');
  await database.sql('delete from gx.thread');
});
afterAll(() => database.drop());

type Given = { uri?: string; env?: Record<string, string> };

/** Starts a server with a lease of an hour. Whatever goes on sooner was noticed by a lock. */
async function start({ uri = database.uri, env = {} }: Given = {}): Promise<AgentProcess> {
  const agent = await startAgent({ database: uri, env: { GX_JOB_LEASE_SECS: '3600', ...env } });
  agents.push(agent);
  await until('it has told its name', () => Promise.resolve(name(agent) !== ''));
  return agent;
}

type Row = {
  status: string;
  attempt: number;
  lost: number;
  worker: string | null;
  error: { message: string } | null;
};

async function row(runId: string): Promise<Row> {
  const [found] = await database.sql<Row>(
    'select status, attempt, lost, worker, error from gx.run where run_id = $1',
    [runId],
  );
  if (found === undefined) throw new Error(`no run ${runId}`);
  return found;
}

const workers = (): Promise<{ worker: string; lock: string }[]> =>
  database.sql('select worker, lock::text from gx.worker order by worker');

const ended = (runId: string): Promise<Row> =>
  until('the run is over', async () => {
    const found = await row(runId);
    return found.status !== 'pending' && found.status !== 'running' && found;
  });

const name = (agent: AgentProcess): string =>
  /"worker":"([0-9a-f-]+)"/.exec(agent.output())?.[1] ?? '';

/** A run that this process executes for some seconds. */
async function runOn(agent: AgentProcess, seconds: number): Promise<string> {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'steps', {
    input: { left: seconds * 5, pause: 200 },
  });
  await until('it executes the run', async () => (await row(run_id)).worker === name(agent));
  return run_id;
}

/** A run as left behind by a worker that holds, or held, the lock with this number. */
async function leftBehind(
  by: { worker: string; lock?: string },
  run: { lost: number; begun: boolean | null; attempt: number },
): Promise<string> {
  const [agent] = agents;
  const { thread_id } = await agent!.client.threads.create();
  const { run_id } = await agent!.client.runs.create(thread_id, 'steps', {
    input: { left: 2 },
    afterSeconds: 3600,
  });
  if (by.lock !== undefined)
    await database.sql('insert into gx.worker (worker, lock) values ($1, $2)', [
      by.worker,
      by.lock,
    ]);
  await database.sql(
    `update gx.run set status = 'running', due_at = now(), worker = $2, attempt = $3, lost = $4, begun = $5, lease_until = now() + interval '1 hour'
      where run_id = $1`,
    [run_id, by.worker, run.attempt, run.lost, run.begun],
  );
  return run_id;
}

test('the runs of a killed worker go on elsewhere, long before its lease is over, and it is forgotten', async () => {
  const [dies, lives] = [await start(), await start()];
  expect((await workers()).map(({ worker }) => worker)).toEqual(
    [name(dies), name(lives)].toSorted(),
  );
  const run = await runOn(dies, 3);
  await until(
    'it has stored something',
    async () => (await database.sql('select 1 from gx.checkpoints')).length > 0,
  );
  await dies.kill('SIGKILL');
  expect(await ended(run)).toMatchObject({
    status: 'success',
    attempt: 2,
    lost: 1,
    worker: name(lives),
  });
  await until('it is forgotten', async () => (await workers()).length === 1);
});

test('the next process of a lone worker takes its runs up', async () => {
  const dies = await start();
  const run = await runOn(dies, 3);
  await dies.kill('SIGKILL');
  const next = await start();
  expect(await ended(run)).toMatchObject({ status: 'success', attempt: 2, worker: name(next) });
});

test('a worker that stops leaves no lock behind', async () => {
  const stops = await start();
  expect(await workers()).toHaveLength(1);
  await stops.kill('SIGTERM');
  expect(await workers()).toEqual([]);
});

test('a process that executes nothing has no lock', async () => {
  await start({ env: { N_JOBS_PER_WORKER: '0' } });
  expect(await workers()).toEqual([]);
});

test('a worker whose session ends, and that lives, keeps its runs and gets another lock', async () => {
  const [worker, other] = [await start(), await start()];
  const run = await runOn(worker, 4);
  const before = await workers();
  for (let time = 0; time < 3; time += 1) {
    const known = await workers();
    const pids = `select pid from pg_locks where locktype = 'advisory' and ((classid::bigint << 32) | objid::bigint) = any($1::bigint[])`;
    const locks = known.filter((one) => one.worker === name(worker)).map(({ lock }) => lock);
    await database.sql(`select pg_terminate_backend(pid) from (${pids}) as its`, [locks]);
    await until('it has another lock', async () =>
      (await workers()).some((one) => one.worker === name(worker) && !locks.includes(one.lock)),
    );
  }
  expect(await ended(run)).toMatchObject({
    status: 'success',
    attempt: 1,
    lost: 0,
    worker: name(worker),
  });
  const after = await workers();
  expect(after.map((one) => one.worker)).toEqual(before.map((one) => one.worker));
  expect(other.output()).not.toContain('worker of a run died');
});

test.each<[string, { lost: number; begun: boolean; attempt: number }, object]>([
  [
    'that had only been claimed loses no life',
    { lost: 2, begun: false, attempt: 3 },
    { status: 'success', attempt: 4, lost: 2 },
  ],
  [
    'that had begun loses its last life',
    { lost: 2, begun: true, attempt: 3 },
    { status: 'error', attempt: 3 },
  ],
  [
    'that had begun loses a life',
    { lost: 0, begun: true, attempt: 2 },
    { status: 'success', attempt: 3, lost: 1 },
  ],
  [
    'of a first attempt that stored nothing loses no life',
    { lost: 0, begun: false, attempt: 1 },
    { status: 'success', attempt: 2, lost: 0 },
  ],
])('a run of a dead worker %s', async (_, left, expected) => {
  await start();
  const run = await leftBehind({ worker: randomUUID(), lock: '4711' }, left);
  expect(await ended(run)).toMatchObject(expected);
});

test.each<[string, Record<string, string>]>([
  ['as it was sent', {}],
  ['that is encrypted', { GX_AES_KEY: 'k'.repeat(32) }],
])('the line about a run of a dead worker names its request, by the call %s', async (_, env) => {
  const own = await freshDatabase();
  const [agent] = [await start({ uri: own.uri, env })];
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'steps', {
    input: { left: 2 },
    afterSeconds: 3600,
  });
  const worker = randomUUID();
  await own.sql('insert into gx.worker (worker, lock) values ($1, 4713)', [worker]);
  await own.sql(
    `update gx.run set status = 'running', due_at = now(), worker = $2, attempt = 2, begun = true, lease_until = now() + interval '1 hour'
      where run_id = $1`,
    [run_id, worker],
  );
  const lines = (message: string) =>
    linesOf(agent.output()).find((line) => line['msg'] === message && line['run_id'] === run_id);
  const about = await until('its loss is in the log', () => lines('worker of a run died'));
  const started = await until('it goes on', () => lines('run started'));
  expect(about).toMatchObject({
    thread_id,
    lost: 1,
    request_id: expect.any(String) as string,
    trace_id: run_id.replaceAll('-', ''),
  });
  expect(about['request_id']).toBe(started['request_id']);
  await agent.kill('SIGKILL');
  await own.drop();
});

test('a worker that never said that it holds a lock is not dead for that', async () => {
  await start();
  const silent = await leftBehind({ worker: randomUUID() }, { lost: 0, begun: false, attempt: 1 });
  const dead = await leftBehind(
    { worker: randomUUID(), lock: '4712' },
    { lost: 0, begun: true, attempt: 2 },
  );
  await ended(dead);
  expect(await row(silent)).toMatchObject({ status: 'running', attempt: 1, lost: 0 });
});

/** Stands in for a pooler before Postgres, which hands out keys of its own for cancelling statements. */
async function pooler(): Promise<{ uri: string; server: Server }> {
  const target = new URL(database.uri);
  const server = createServer((client: Socket) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      // BackendKeyData is 'K', its length (12), the process and the key.
      const at = bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
      if (at >= 0 && bytes.length >= at + 9) bytes.writeInt32BE(1, at + 5);
      client.write(bytes);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await until('it listens', () => server.listening);
  const uri = new URL(database.uri);
  uri.port = String((server.address() as { port: number }).port);
  uri.hostname = '127.0.0.1';
  return { uri: uri.href, server };
}

test('behind a pooler the lease alone tells, and the log says so once', async () => {
  const { uri, server } = await pooler();
  const env = { GX_JOB_LEASE_SECS: '6' };
  const [dies, lives] = [await start({ uri, env }), await start({ uri, env })];
  expect(await workers()).toEqual([]);
  const run = await runOn(dies, 3);
  const killed = Date.now();
  await dies.kill('SIGKILL');
  const { attempt } = await until('it goes on', async () => {
    const found = await row(run);
    return found.worker === name(lives) && found;
  });
  expect(attempt).toBe(2);
  expect(Date.now() - killed).toBeGreaterThan(3000);
  expect(await ended(run)).toMatchObject({ status: 'success' });
  expect(lives.output().match(/a pooler is between/g)).toHaveLength(1);
  server.close();
});
