import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { linesOf } from '../../kit/lines.ts';
import { until } from '../../kit/until.ts';

/* What a graph logs with the SDK's `getLogger()`. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/graph-log/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Line = { level: string; msg: string; run_id?: string } & Record<string, unknown>;

const logged = (): Line[] =>
  agent
    .output()
    .split('\n')
    .filter((line) => line.includes('"source":"graph"'))
    .map((line) => JSON.parse(line) as Line);

async function run(name: string): Promise<{ run_id: string; thread_id: string }> {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'logs', { input: { name } });
  await agent.client.runs.join(thread_id, run_id);
  return { run_id, thread_id };
}

test('a line of a graph is a line of the log, with the ids of its run and the name of its node', async () => {
  const [ada, bob] = await Promise.all([run('ada'), run('bob')]);
  await until('both have logged', () => Promise.resolve(logged().length === 11));
  for (const [name, ids] of Object.entries({ ada, bob })) {
    const lines = logged().filter(({ run_id }) => run_id === ids.run_id);
    const common = { ...ids, graph_id: 'logs', node: 'greet', process: 'graph-thread' };
    expect(lines).toMatchObject([
      {
        ...common,
        level: 'info',
        msg: `hello ${name}`,
        data: { input: name, level: 'loud', password: '[redacted]' },
      },
      { ...common, level: 'warn', msg: 'an object', data: { count: 2 } },
      { ...common, level: 'error', msg: `later ${name}`, err: { message: 'broken' } },
      { ...common, level: 'info', msg: `a print of ${name} { count: 2 }` },
      { ...common, level: 'error', msg: `a complaint of ${name}` },
    ]);
  }
});

test('a line of the server itself about a graph has the ids of the run, too', async () => {
  const { run_id, thread_id } = await run('eve');
  const about = await until('it is logged', () =>
    linesOf(agent.output()).find(
      (line) => line['run_id'] === run_id && line['msg'] === 'unhandled rejection in a graph',
    ),
  );
  const ids = {
    thread_id,
    request_id: expect.any(String) as string,
    trace_id: run_id.replaceAll('-', ''),
  };
  expect(about).toMatchObject({ ...ids, err: { message: 'nobody waits for eve' } });
});

test('what a module prints while it loads is printed as it is', () => {
  expect(agent.output().split('\n')).toContain('a print while it loads');
});

test('what a module logs while it loads belongs to no run', () => {
  const [first] = logged();
  expect(first).toMatchObject({ level: 'info', msg: 'loaded' });
  expect(first).not.toHaveProperty('run_id');
});
