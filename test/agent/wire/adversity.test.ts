import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../../src/errors.ts';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { failedStart, startAgent } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Connections, threads and other processes break around a server that goes on. */

let { database, api, queue, stop } = {} as AgentPair;

beforeAll(async () => {
  ({ database, api, queue, stop } = await startPair({ GX_JOB_LEASE_SECS: '6' }));
});
afterAll(() => stop());

/** The body of a run that is still under way when the next request comes. */
const long = { input: { left: 200, pause: 50 }, config: { recursion_limit: 1000 } };
const steps = (left: number, pause: number) => ({ assistant_id: 'steps', input: { left, pause } });
const post = async (path: string, body: unknown): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${api.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
};

type Told = [event: string, data: Record<string, unknown>];

/** Returns the events that a stream of the thread sends from now until `leave`. */
async function followed(thread_id: string): Promise<{ told: Told[]; leave: () => Promise<void> }> {
  const leaving = new AbortController();
  const modes = 'stream_modes=run_modes&stream_modes=lifecycle';
  const response = await fetch(`${api.url}/threads/${thread_id}/stream?${modes}`, {
    signal: leaving.signal,
  });
  const told: Told[] = [];
  const reading = (async () => {
    let rest = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const messages = (rest + chunk).split('\r\n\r\n');
      rest = messages.pop() ?? '';
      for (const message of messages) {
        const [, event, data] = /^event: (.*)\r\ndata: (.*)\r\nid: /.exec(message) ?? [];
        if (event !== undefined) told.push([event, JSON.parse(data!) as Told[1]]);
      }
    }
  })().catch(() => undefined);
  return { told, leave: () => (leaving.abort(), reading) };
}
const isOver = ({ told }: { told: Told[] }): boolean => told.at(-1)?.[1]['status'] === 'run_done';

const lefts = (events: { event: string; data: unknown }[]): number[] =>
  events
    .filter(({ event }) => event === 'custom')
    .map(({ data }) => (data as { left: number }).left);

test('a stream joined from another process has neither gap nor duplicate, whenever it was joined', async () => {
  const { thread_id } = await api.client.threads.create();
  const input = { left: 20, pause: 25 };
  const run = await api.client.runs.create(thread_id, 'steps', {
    input,
    streamMode: ['custom'],
    streamResumable: true,
  });
  const all = Array.from({ length: 20 }, (_, at) => 20 - at);
  const join = async (delay: number): Promise<number[]> => {
    await new Promise((resolve) => setTimeout(resolve, delay));
    return lefts(
      await Array.fromAsync(
        api.client.runs.joinStream(thread_id, run.run_id, { lastEventId: '-' }),
      ),
    );
  };
  for (const seen of await Promise.all([join(0), join(120), join(250), join(400)]))
    expect(seen).toEqual(all);
});

test('a stream without memory gives what comes after the join', async () => {
  const { thread_id } = await api.client.threads.create();
  const run = await api.client.runs.create(thread_id, 'steps', { ...long, streamMode: ['custom'] });
  await until(
    'it is under way',
    async () => (await api.client.threads.getState(thread_id)).next.length > 0,
  );
  const seen: number[] = [];
  for await (const event of api.client.runs.joinStream(thread_id, run.run_id)) {
    seen.push(...lefts([event]));
    if (seen.length === 5) break;
  }
  await api.client.runs.cancel(thread_id, run.run_id, true);
  expect(seen).toEqual(Array.from({ length: 5 }, (_, at) => seen[0]! - at));
});

test('an event larger than a notification crosses processes', async () => {
  const content = 'x'.repeat(100_000);
  const events = await Array.fromAsync(
    api.client.runs.stream(null, 'chat', {
      input: { messages: [{ role: 'human', content }] },
      streamMode: 'values',
    }),
  );
  expect(JSON.stringify(events.at(-1)?.data)).toContain(content);
});

test('a character that no text of the database holds is refused by name, and the thread stays as it was', async () => {
  const { thread_id } = await api.client.threads.create();
  const input = { messages: [{ role: 'human', content: 'a\u0000b' }] };
  const answer = await post(`/threads/${thread_id}/runs/wait`, { assistant_id: 'chat', input });
  expect(answer).toEqual({
    status: 422,
    body: {
      detail: expect.stringMatching(/^body\.input\.messages\.0\.content: the NUL/) as string,
    },
  });
  expect(await api.client.runs.list(thread_id)).toEqual([]);
});

test('lost database connections cost no run', async () => {
  const { thread_id } = await api.client.threads.create();
  const run = await api.client.runs.create(thread_id, 'steps', { input: { left: 15, pause: 300 } });
  await until(
    'it runs',
    async () => (await api.client.runs.get(thread_id, run.run_id)).status === 'running',
  );
  const cut =
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  await database.sql(cut).catch(() => undefined);
  await until(
    'both are well',
    async () => (await fetch(`${api.url}/ok`)).ok && (await fetch(`${queue.url}/ok`)).ok,
    60,
  );
  const state = await api.client.runs.join(thread_id, run.run_id);
  expect(state).toMatchObject({ done: 15 });
  expect(await api.client.runs.get(thread_id, run.run_id)).toMatchObject({ status: 'success' });
  expect((await post('/runs/wait', steps(1, 0))).body).toMatchObject({ done: 1 });
}, 180_000);

test('a result that the database refuses fails its run at once, with the reason, and is not executed again', async () => {
  await database.sql(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'too large for a field'; end $$`,
  );
  await database.sql(
    `create trigger refuse before update on gx.thread for each row when (new."values" @> '{"done": 3}') execute function refuse()`,
  );
  const { thread_id } = await api.client.threads.create();
  const thread = await followed(thread_id);
  const events = await Array.fromAsync(
    api.client.runs.stream(thread_id, 'steps', {
      input: { left: 3, pause: 0 },
      streamMode: 'custom',
    }),
  );
  const error = {
    error: 'ResultNotStored',
    message: 'The database refused the result of the run: too large for a field.',
  };
  expect(events.slice(1).map(({ event, data }) => [event, data])).toEqual([
    ...[3, 2, 1].map((left) => ['custom', { left }]),
    ['error', error],
  ]);
  await until('its thread hears of the end', () => isOver(thread), 60);
  await thread.leave();
  expect(thread.told.slice(-2)).toEqual([
    ['error', error],
    ['metadata', { status: 'run_done', run_id: (events[0]!.data as { run_id: string }).run_id }],
  ]);
  const [run] = await api.client.runs.list(thread_id);
  expect(run?.status).toBe('error');
  expect(await api.client.threads.get(thread_id)).toMatchObject({ status: 'error', error });
  expect(
    await database.sql('select attempt, lost from gx.run where run_id = $1', [run?.run_id]),
  ).toEqual([{ attempt: 1, lost: 0 }]);
  await database.sql('drop function refuse cascade');
});

test('a graph that ends its thread three times is given up, and its neighbours go on', async () => {
  const { thread_id } = await api.client.threads.create();
  const neighbour = post('/runs/wait', steps(10, 200));
  const thread = await followed(thread_id);
  const run = await api.client.runs.create(thread_id, 'broken', { input: { how: 'die' } });
  const read = Array.fromAsync(api.client.runs.joinStream(thread_id, run.run_id));
  expect(await post(`/threads/${thread_id}/runs/wait`, steps(1, 0))).toMatchObject({ status: 200 });
  const body = await fetch(`${api.url}/threads/${thread_id}/runs/${run.run_id}/join`).then(
    (response) => response.json(),
  );
  expect(body).toMatchObject({ __error__: { error: 'WorkerLost' } });
  const { __error__: error } = body as { __error__: object };
  expect(
    (await read).filter(({ event }) => event !== 'metadata' && event !== 'values'),
  ).toMatchObject([{ event: 'error', data: error }]);
  await until(
    'its thread hears of the next run',
    () => isOver(thread) && thread.told.length > 3,
    60,
  );
  await thread.leave();
  const told = thread.told.filter(
    ([, data]) => data['run_id'] === run.run_id || data['error'] !== undefined,
  );
  expect(told.at(-2)).toEqual(['error', error]);
  expect(told.at(-1)).toEqual(['metadata', { status: 'run_done', run_id: run.run_id }]);
  expect((await neighbour).body).toMatchObject({ done: expect.any(Number) as number });
}, 180_000);

test('runs end while others ask for their threads: nobody waits for each other, and no end is lost', async () => {
  const { client } = api;
  const told = [api, queue].map((agent) => agent.output().length);
  const threads = await Promise.all(Array.from({ length: 4 }, () => client.threads.create()));
  const strategies = ['interrupt', 'reject', 'rollback', 'enqueue'] as const;
  const refusals = new Set<string>();
  const ask = async (thread_id: string): Promise<void> => {
    for (let at = 0; at < 24; at += 1) {
      const create = client.runs.create(thread_id, 'steps', {
        input: { left: 1 },
        multitaskStrategy: strategies[at % 4]!,
      });
      await create.catch((error: { status?: number; message: string }) =>
        refusals.add(`${error.status} ${error.message}`),
      );
    }
  };
  await Promise.all(
    threads.flatMap(({ thread_id }) => [ask(thread_id), ask(thread_id), ask(thread_id)]),
  );
  expect(
    [...refusals].filter((refusal) => !/^409\b.*already running a task/s.test(refusal)),
  ).toEqual([]);
  for (const [at, agent] of [api, queue].entries())
    expect(agent.output().slice(told[at])).not.toContain('end of run could not be written');
});

test.each(['interrupt', 'rollback'] as const)(
  'who follows a thread hears of the end of a run that was stopped by %s',
  async (action) => {
    const { thread_id } = await api.client.threads.create();
    const thread = await followed(thread_id);
    const { run_id } = await api.client.runs.create(thread_id, 'steps', long);
    await until('it runs', () => thread.told.length > 0);
    expect(
      (await post(`/threads/${thread_id}/runs/${run_id}/cancel?wait=1&action=${action}`, {}))
        .status,
    ).toBe(200);
    await until('the thread hears of it', () => isOver(thread), 60);
    await thread.leave();
    expect(thread.told[0]).toEqual(['metadata', { run_id, attempt: 1 }]);
    expect(thread.told.at(-1)).toEqual(['metadata', { status: 'run_done', run_id }]);
  },
);

test('a process that is told to stop gives its waiting clients the end of runs elsewhere first', async () => {
  const leaving = await startAgent({ database: database.uri, env: { N_JOBS_PER_WORKER: '0' } });
  const { thread_id } = await leaving.client.threads.create();
  const waiting = leaving.client.runs.wait(thread_id, 'steps', { input: { left: 8, pause: 250 } });
  await until('the run is under way', async () => {
    const status = (await api.client.runs.list(thread_id))[0]?.status;
    return status !== undefined && status !== 'pending';
  });
  const [result, code] = await Promise.all([waiting, leaving.kill()]);
  expect([result, code]).toEqual([expect.objectContaining({ left: 0 }), 0]);
});

test('a stuck graph is cancelled too', async () => {
  const { thread_id } = await api.client.threads.create();
  const run = await api.client.runs.create(thread_id, 'broken', {
    input: { how: 'spin' },
    durability: 'sync',
  });
  await until('it is stuck', () => queue.output().includes('spinning'));
  await api.client.runs.cancel(thread_id, run.run_id, true);
  expect((await api.client.runs.get(thread_id, run.run_id)).status).toBe('interrupted');
  // The thread stands where the run left it, though nobody ever reported that.
  const thread = await until('its thread is looked at', async () => {
    const found = await api.client.threads.get(thread_id);
    return found.status === 'interrupted' && found;
  });
  expect(thread.values).toEqual({ how: 'spin' });
}, 180_000);

test('a thread deleted under its run is gone, and the worker free', async () => {
  const { thread_id } = await api.client.threads.create();
  await api.client.runs.create(thread_id, 'steps', long);
  await until(
    'it runs',
    async () => (await api.client.threads.getState(thread_id)).next.length > 0,
  );
  await api.client.threads.delete(thread_id);
  const active = await until(
    'nothing runs',
    async () => {
      const metrics = (await fetch(`${queue.url}/metrics?format=json`).then((answer) =>
        answer.json(),
      )) as { workers: { active: number } };
      return metrics.workers.active === 0 && metrics.workers;
    },
    60,
  );
  expect(active).toEqual({ max: 5, active: 0, available: 5 });
  for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
    expect(
      await database.sql(`select 1 from gx.${table} where thread_id = $1`, [thread_id]),
    ).toEqual([]);
}, 180_000);

test('a database of a later major version is refused with a sentence, and with the code by which the operator knows it', async () => {
  const later = await freshDatabase();
  await later.sql(`insert into gx.migration (number, name, major) values (9000, 'later', 2)`);
  const { code, output } = await failedStart({ database: later.uri });
  expect(code).toBe(EXIT.migration);
  expect(output).toMatch(/schema version 2/);
  await later.sql(`update gx.migration set major = 1`);
  const agent = await startAgent({ database: later.uri });
  expect(await agent.kill()).toBe(0);
  await later.drop();
});
