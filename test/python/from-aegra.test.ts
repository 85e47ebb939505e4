import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { importThreads } from '../kit/import-threads.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* The data of an Aegra goes on here: checkpoints by the import, and the rest by the script of the examples. */

const run = promisify(execFile);
const python = (): string => `${inject('python')}/python`;

/** The columns of Aegra 0.12 that are read, beside those of LangGraph's own store. */
const TABLES = `
create table assistant (assistant_id text primary key, name text not null, description text, graph_id text not null,
  config jsonb, context jsonb, user_id text not null, version int not null default 1, metadata jsonb);
create table thread (thread_id text primary key, status text default 'idle', metadata_json jsonb default '{}', user_id text not null);
create table crons (cron_id text primary key, assistant_id text not null, thread_id text, user_id text not null, schedule text not null,
  payload jsonb default '{}', metadata jsonb default '{}', on_run_completed text, enabled bool default true, end_time timestamptz);
create table store (prefix text, key text, value jsonb, created_at timestamptz default now(), updated_at timestamptz default now(),
  expires_at timestamptz, ttl_minutes int, primary key (prefix, key));`;

const [WAITS, EMPTY] = [
  '4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a01',
  '6a0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a0f',
];
const [OF_GRAPH, MADE] = [
  'eb6db400-e3c8-5d06-a834-015cb89efe69',
  '7b0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a0f',
];
const ROWS = `
insert into assistant values ('${OF_GRAPH}', 'approval', null, 'approval', '{}', '{}', 'system', 1, '{}'),
  ('${MADE}', 'Careful', 'asks twice', 'approval', '{"recursion_limit": 7}', '{}', 'ann', 1, '{"team": "blue"}');
insert into thread (thread_id, metadata_json, user_id) values ('${WAITS}', '{"graph_id": "approval", "title": "first"}', 'ann'),
  ('${EMPTY}', '{}', 'bob');
insert into store values ('users.ann.notes', 'one', '{"text": "kept"}', now(), now(), null, null),
  ('users.ann.notes', 'old', '{}', now(), now(), now() - interval '1 minute', 1),
  ('users.bob', 'brief', '{"text": "goes"}', now(), now(), now() + interval '1 hour', 60);
insert into crons (cron_id, assistant_id, thread_id, user_id, schedule, payload, on_run_completed, enabled) values
  ('c1', '${OF_GRAPH}', null, 'ann', '0 9 * * *', '{"input": {"topic": "news"}, "timezone": "Europe/Berlin"}', 'keep', true),
  ('c2', '${MADE}', '${WAITS}', 'bob', '0 10 * * *', '{"input": {}}', null, false);`;

let source: TestDatabase;
let target: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  [source, target] = await Promise.all([
    freshDatabase({ migrated: false }),
    freshDatabase({ migrated: false }),
  ]);
  await run(python(), ['test/python/imports/saved.py', source.uri], {
    env: { PYTHONPATH: 'test/python' },
  });
  await source.sql(TABLES);
  await source.sql(ROWS);
  await importThreads(target.uri, ['--from', source.uri, '--graph', 'approval', '--thread', WAITS]);
  agent = await startPython(target.uri);
});
afterAll(async () => {
  await agent.kill();
  await Promise.all([source.drop(), target.drop()]);
});

const copied = async (): Promise<string> =>
  (
    await run(python(), [
      'examples/from_aegra.py',
      source.uri.replace(/^postgres(ql)?:/, 'postgresql+asyncpg:'),
      agent.url,
    ])
  ).stdout;

test('assistants, threads, items and crons are copied once, with their owners', async () => {
  expect(await copied()).toBe('1 assistants\n2 threads\n2 items of the store\n2 crons\n');
  expect(await copied()).toBe('1 assistants\n2 threads\n2 items of the store\n0 crons\n');
  const { client } = agent;
  expect(await client.assistants.get(MADE)).toMatchObject({
    name: 'Careful',
    description: 'asks twice',
    graph_id: 'approval',
    config: { recursion_limit: 7 },
    metadata: { owner: 'ann', team: 'blue' },
  });
  expect(await client.threads.get(WAITS)).toMatchObject({
    status: 'interrupted',
    metadata: { owner: 'ann', title: 'first' },
  });
  expect(await client.threads.get(EMPTY)).toMatchObject({
    status: 'idle',
    metadata: { owner: 'bob' },
  });
  const { items } = await client.store.searchItems(['users']);
  expect(
    Object.fromEntries(
      items.map(({ namespace, key, value }) => [[...namespace, key].join('.'), value]),
    ),
  ).toEqual({
    'users.ann.notes.one': { text: 'kept' },
    'users.bob.brief': { text: 'goes' },
  });
  const crons = await client.crons.search({ sortBy: 'created_at', sortOrder: 'asc' });
  expect(crons).toMatchObject([
    {
      schedule: '0 9 * * *',
      timezone: 'Europe/Berlin',
      enabled: true,
      on_run_completed: 'keep',
      metadata: { owner: 'ann' },
    },
    { schedule: '0 10 * * *', assistant_id: MADE, thread_id: WAITS, enabled: false },
  ]);
});

test('an imported thread answers its question', async () => {
  const values = await agent.client.runs.wait(WAITS, 'approval', { command: { resume: 'yes' } });
  expect(values).not.toHaveProperty('__interrupt__');
});
