import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* Handlers of `auth.path` that only Python has. The others are twins, in the table of test/python/twins. */

const GRAPH = path.resolve('test/agent/wire/auth/graphs/who.py:graph');
const FILE = path.resolve('test/python/own-code/auth.py');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-auth-'));
let database: TestDatabase;
let agent: AgentProcess;

const options = (auth: string) => {
  const config = path.join(folder, 'gx.json');
  writeFileSync(config, JSON.stringify({ graphs: { who: GRAPH }, auth: { path: auth } }));
  return { database: database.uri, config, env: { GX_PYTHON: `${inject('python')}/python` } };
};

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent(options(`${FILE}:auth`));
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

async function said(
  name: string | undefined,
  place: string,
  body: unknown = {},
): Promise<[number, unknown]> {
  const headers = {
    'content-type': 'application/json',
    ...(name !== undefined && { 'x-name': name }),
  };
  const answer = await fetch(agent.url + place, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return [answer.status, await answer.json()];
}

describe('a handler that is a plain function', () => {
  test('gets the facts that its parameters name, and its object becomes the user of the graph', async () => {
    const [, values] = await said('ann', '/runs/wait?team=red', {
      assistant_id: 'who',
      input: { said: 'hi' },
    });
    const user = {
      identity: 'ann',
      name: 'ann',
      team: 'POST red [] ann',
      permissions: ['reads'],
      display_name: 'ann',
    };
    expect(values).toMatchObject({ id: 'ann', user });
  });

  test('finds the ids of a path, and refuses with the exceptions of starlette', async () => {
    const { thread_id } = (await said('ann', '/threads'))[1] as { thread_id: string };
    const [, values] = await said('ann', `/threads/${thread_id}/runs/wait`, {
      assistant_id: 'who',
      input: { said: 'hi' },
    });
    expect(values).toMatchObject({ user: { team: "POST None ['thread_id'] ann" } });
    const answer = await fetch(`${agent.url}/threads`, { method: 'POST' });
    expect([answer.status, await answer.json(), answer.headers.get('x-hint')]).toEqual([
      401,
      { detail: 'Give a name.' },
      'x-name',
    ]);
  });

  test('holds up nobody while it waits', async () => {
    const sleepy = said('sleepy', '/threads');
    const started = performance.now();
    expect((await said('ann', '/threads'))[0]).toBe(200);
    expect(performance.now() - started).toBeLessThan(2500);
    expect((await sleepy)[0]).toBe(200);
  });
});

describe('a handler for events', () => {
  test('refuses by a failed assertion, or by False', async () => {
    expect(await said('eve', '/threads')).toEqual([403, { detail: 'Not for eve.' }]);
    expect(await said('ann', '/assistants/search')).toEqual([403, { detail: 'Forbidden' }]);
  });

  test('that no event has is named in the log', () => {
    const line = agent
      .output()
      .split('\n')
      .find((one) => one.includes('they are never asked'))!;
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      handlers: ['runs:create', 'runs:read'],
    });
  });

  test('that answers with something else is at fault, in a sentence', async () => {
    expect(await said('ann', '/threads/search')).toEqual([
      500,
      {
        detail:
          'The authorization handler returned str: it must return a filter, True, False or None.',
      },
    ]);
  });
});

test.each([
  [
    'asks_for_body',
    'the authenticate handler asks for "body": the body of a request is read after its caller is known.',
  ],
  ['asks_for_more', 'the authenticate handler asks for "database": there are request, path, '],
  ['lets_nobody_in', 'has no authenticate handler, so nobody could be let in.'],
  ['no_auth', 'is not an Auth object of langgraph_sdk.'],
  ['nothing', `auth.path: ${FILE} has no variable named "nothing".`],
])('a start with %s fails and says why', async (name, sentence) => {
  const { output } = await failedStart(options(`${FILE}:${name}`));
  expect(output).toContain(sentence.replaceAll('"', String.raw`\"`));
});

test('a start without an interpreter fails and says so', async () => {
  const given = options(`${FILE}:auth`);
  const { output } = await failedStart({ ...given, env: { GX_PYTHON: '/nowhere/python' } });
  expect(output).toContain('GX_PYTHON names /nowhere/python, which is not there');
});
