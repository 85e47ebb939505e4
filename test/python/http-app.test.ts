import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* Applications of FastAPI, as far as only Python has them. The others are twins, in the table of test/python/twins. */

const GRAPH = path.resolve('test/agent/wire/auth/graphs/who.py:graph');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-http-app-'));
let database: TestDatabase;

const options = (name: string, more: object, env: Record<string, string> = {}) => {
  const config = path.join(folder, `${name}.json`);
  const app = path.resolve('test/python/own-code/app.py:app');
  const http = { app, ...more };
  const auth = { path: path.resolve('test/python/own-code/auth.py:auth') };
  writeFileSync(config, JSON.stringify({ graphs: { who: GRAPH }, http, auth }));
  return {
    database: database.uri,
    config,
    env: { GX_PYTHON: `${inject('python')}/python`, ...env },
  };
};

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Seen = { status: number; text: string; middleware: string | null };

const seenBy =
  (agent: () => AgentProcess) =>
  async (place: string, init: RequestInit = {}): Promise<Seen> => {
    const answer = await fetch(agent().url + place, init);
    return {
      status: answer.status,
      text: await answer.text(),
      middleware: answer.headers.get('x-middleware'),
    };
  };

const ANN = { headers: { 'x-name': 'ann' } };

describe('an application of FastAPI', () => {
  let agent: AgentProcess;
  const ask = seenBy(() => agent);
  beforeAll(async () => {
    agent = await startAgent(options('open', {}));
  });
  afterAll(() => agent.kill('SIGKILL'));

  test('serves an included router, with the state of its lifespan and the address of the client', async () => {
    const { status, text, middleware } = await ask('/v1/teams/red');
    expect([status, JSON.parse(text), middleware]).toEqual([
      200,
      { team: 'red', user: null, pool: 'opened', client: '127.0.0.1' },
      'seen',
    ]);
  });

  test('has its middleware around the built-in routes, and leaves to them a method that its path does not have', async () => {
    expect(await ask('/threads', { method: 'POST', ...ANN })).toMatchObject({
      status: 200,
      middleware: 'seen',
    });
    const json = {
      method: 'POST',
      headers: { ...ANN.headers, 'content-type': 'application/json' },
      body: '{"metadata":{"a":1}}',
    };
    expect((await ask('/threads', json)).text).toContain('"a":1');
    expect(await ask('/v1/teams/red', { method: 'POST' })).toMatchObject({
      status: 404,
      middleware: 'seen',
    });
  });

  test('answers a failure itself, and what it raised stays in the log', async () => {
    expect(await ask('/throws')).toMatchObject({ status: 500, text: 'Internal Server Error' });
    await expect.poll(() => agent.output()).toContain('the secret of the application');
  });

  test('describes its routes in the document of the server', async () => {
    await expect
      .poll(async () => (await ask('/openapi.json')).text, { timeout: 30_000 })
      .toContain('team_v1_teams__name__get');
  });

  test('that holds its process is begun again, also behind a middleware that starts tasks', async () => {
    const held = await ask('/loops');
    expect([held.status, held.text]).toEqual([503, expect.stringContaining('does not yield')]);
    expect((await ask('/v1/teams/red')).status).toBe(200);
  });
});

test('routes of an included router ask who calls where gx.json says so', async () => {
  const agent = await startAgent(options('guarded', { enable_custom_route_auth: true }));
  const ask = seenBy(() => agent);
  expect(await ask('/v1/teams/red')).toMatchObject({
    status: 401,
    text: '{"detail":"Give a name."}',
    middleware: 'seen',
  });
  expect(JSON.parse((await ask('/v1/teams/red', ANN)).text)).toMatchObject({
    team: 'red',
    user: 'ann',
  });
  expect((await ask('/threads', { method: 'POST' })).status).toBe(401);
  await agent.kill();
  expect(agent.output()).toContain('the pool is closed again');
});

test('a lifespan that fails fails the start', async () => {
  const { output } = await failedStart(options('failing', {}, { FAILS: '1' }));
  expect(output).toContain('http.app: its lifespan failed: RuntimeError: the pool is closed');
});
