import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/*
 * What teams rely on who come from another open-source server: who is let in, what becomes of a user, whose threads
 * are whose, what a role may do, and their own routes beside the built-in ones. The cases are those of the tests of
 * aegra for its auth and its custom routes.
 */

const GRAPH = path.resolve('test/agent/wire/auth/graphs/who.py:graph');
const TEAMS = path.resolve('test/python/own-code/teams.py');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-teams-'));
let database: TestDatabase;

const start = (name: string, parts: object): Promise<AgentProcess> => {
  const config = path.join(folder, `${name}.json`);
  writeFileSync(config, JSON.stringify({ graphs: { who: GRAPH }, ...parts }));
  return startAgent({
    database: database.uri,
    config,
    env: { GX_PYTHON: `${inject('python')}/python` },
  });
};

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Asked = { authorization?: string | undefined; body?: unknown; method?: string };
type Answered = { status: number; body: unknown };

async function ask(
  agent: AgentProcess,
  place: string,
  { authorization, body, method }: Asked = {},
): Promise<Answered> {
  const headers = {
    'content-type': 'application/json',
    ...(authorization !== undefined && { authorization }),
  };
  const sent = { headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = await fetch(agent.url + place, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    ...sent,
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}

const bearer = (user: string, role = 'user', team = 'red'): string =>
  `Bearer token/${user}/${role}/${team}`;

describe('with handlers and guarded routes', () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    const http = { app: `${TEAMS}:app`, enable_custom_route_auth: true };
    agent = await start('guarded', { auth: { path: `${TEAMS}:auth` }, http });
  });
  afterAll(() => agent.kill('SIGKILL'));

  test.each([
    ['no header', undefined, 'A bearer token is missing.'],
    ['another scheme', 'Basic token/ann/user/red', 'A bearer token is missing.'],
    ['a token without its scheme', 'token/ann/user/red', 'A bearer token is missing.'],
    ['a token that is none', 'Bearer anything', 'The token is not valid.'],
    ['an empty token', 'Bearer ', 'The token is not valid.'],
  ])('a request with %s is a 401 at built-in and own routes', async (_, authorization, detail) => {
    for (const place of [
      '/assistants/who',
      `/threads/${crypto.randomUUID()}`,
      '/custom/whoami',
      '/custom/public',
      '/custom/protected',
    ])
      expect([place, await ask(agent, place, { authorization })]).toEqual([
        place,
        { status: 401, body: { detail } },
      ]);
    const search = await ask(agent, '/threads/search', { authorization, body: {} });
    expect(search).toEqual({ status: 401, body: { detail } });
  });

  test.each([
    ['admin', 'premium'],
    ['premium', 'premium'],
    ['user', 'free'],
  ])(
    'a user with the role %s reaches own routes with every field that the handler gave',
    async (role, tier) => {
      const authorization = bearer('eve', role, 'blue');
      expect(await ask(agent, '/custom/whoami', { authorization })).toEqual({
        status: 200,
        body: {
          identity: 'eve',
          display_name: 'User eve',
          is_authenticated: true,
          permissions: [role, `${role}:read`],
          role,
          tier,
          team: 'blue',
          email: 'eve@example.com',
        },
      });
      expect(await ask(agent, '/custom/protected', { authorization })).toEqual({
        status: 200,
        body: { user: 'eve' },
      });
      expect(await ask(agent, '/custom/public', { authorization })).toEqual({
        status: 200,
        body: { public: true },
      });
    },
  );

  describe('of handlers for events', () => {
    test('the one for an action writes labels into what is made', async () => {
      const thread = await ask(agent, '/threads', {
        authorization: bearer('ann', 'user', 'green'),
        body: { metadata: { a: 1 } },
      });
      expect(thread).toMatchObject({
        status: 200,
        body: { metadata: { a: 1, owner: 'ann', team: 'green' } },
      });
      const none = await ask(agent, '/threads', {
        authorization: bearer('ann', 'user', 'green'),
        body: {},
      });
      expect(none).toMatchObject({
        status: 200,
        body: { metadata: { owner: 'ann', team: 'green' } },
      });
      const made = await ask(agent, '/assistants', {
        authorization: bearer('eve', 'admin', 'blue'),
        body: { graph_id: 'who' },
      });
      expect(made).toMatchObject({
        status: 200,
        body: { metadata: { made_by: 'eve', team: 'blue' } },
      });
    });

    test('the one for an action comes before those for all, and looks at the role', async () => {
      const made = await ask(agent, '/assistants', {
        authorization: bearer('ann'),
        body: { graph_id: 'who' },
      });
      const place = `/assistants/${(made.body as { assistant_id: string }).assistant_id}`;
      const asUser = { authorization: bearer('ann'), method: 'DELETE' };
      expect(await ask(agent, place, asUser)).toEqual({
        status: 403,
        body: { detail: 'Forbidden' },
      });
      expect((await ask(agent, place, { authorization: bearer('ann') })).status).toBe(200);
      expect(
        (await ask(agent, place, { authorization: bearer('root', 'admin'), method: 'DELETE' }))
          .status,
      ).toBeLessThan(300);
      expect((await ask(agent, place, { authorization: bearer('ann') })).status).toBe(404);
    });
  });

  describe('the threads of a user', () => {
    const input = { assistant_id: 'who', input: { said: 'hi' } };
    let place: string;
    let id: string;
    beforeAll(async () => {
      const made = await ask(agent, '/threads', {
        authorization: bearer('alice'),
        body: { metadata: { tag: 'isolated' } },
      });
      id = (made.body as { thread_id: string }).thread_id;
      place = `/threads/${id}`;
    });

    // The copy of a thread that is not there is a conflict.
    test.each<[what: string, below: string, asked: Asked, status?: number]>([
      ['read', '', {}],
      ['change', '', { method: 'PATCH', body: { metadata: { mine: true } } }],
      ['delete', '', { method: 'DELETE' }],
      ['start a run on', '/runs', { body: input }],
      ['stream a run on', '/runs/stream', { body: input }],
      ['wait for a run on', '/runs/wait', { body: input }],
      ['read the state of', '/state', {}],
      ['read the history of', '/history', {}],
      ['list the runs of', '/runs', {}],
      ['copy', '/copy', { method: 'POST' }, 409],
    ])(
      'are not there for another one, who can not %s them',
      async (_, below, asked, status = 404) => {
        expect(
          await ask(agent, place + below, { ...asked, authorization: bearer('bob') }),
        ).toMatchObject({ status });
        expect(await ask(agent, place, { authorization: bearer('alice') })).toMatchObject({
          status: 200,
          body: { thread_id: id, metadata: { tag: 'isolated', owner: 'alice' }, status: 'idle' },
        });
      },
    );

    test('are the only ones that a search finds or counts', async () => {
      const other = await ask(agent, '/threads', {
        authorization: bearer('bob'),
        body: { metadata: { tag: 'isolated' } },
      });
      const body = { metadata: { tag: 'isolated' }, limit: 100 };
      const found = async (user: string): Promise<string[]> =>
        (
          (await ask(agent, '/threads/search', { authorization: bearer(user), body })).body as {
            thread_id: string;
          }[]
        ).map((thread) => thread.thread_id);
      expect(await found('alice')).toEqual([id]);
      expect(await found('bob')).toEqual([(other.body as { thread_id: string }).thread_id]);
      expect(
        (
          await ask(agent, '/threads/count', {
            authorization: bearer('alice'),
            body: { metadata: body.metadata },
          })
        ).body,
      ).toBe(1);
    });

    test('take runs of their user, whom the graph knows', async () => {
      const answer = await ask(agent, `${place}/runs/wait`, {
        authorization: bearer('alice'),
        body: input,
      });
      expect(answer).toMatchObject({
        status: 200,
        body: { user: { identity: 'alice', team: 'red', role: 'user' } },
      });
    });
  });

  test('the built-in routes stay, and the document has both', async () => {
    expect(await ask(agent, '/ok')).toMatchObject({ status: 200 });
    expect(
      await ask(agent, '/assistants/search', { authorization: bearer('ann'), body: {} }),
    ).toMatchObject({ status: 200 });
    const paths = async (): Promise<string[]> => {
      const { body } = await ask(agent, '/openapi.json', { authorization: bearer('ann') });
      return Object.keys((body as { paths: object }).paths);
    };
    await expect
      .poll(paths)
      .toEqual(
        expect.arrayContaining([
          '/custom/whoami',
          '/custom/public',
          '/custom/protected',
          '/threads',
        ]),
      );
  });
});

test('own routes that gx.json does not guard let everybody in, but for those that ask by themselves', async () => {
  const agent = await start('open', {
    auth: { path: `${TEAMS}:auth` },
    http: { app: `${TEAMS}:app` },
  });
  expect(await ask(agent, '/custom/public')).toEqual({ status: 200, body: { public: true } });
  expect(await ask(agent, '/custom/whoami')).toEqual({ status: 200, body: { identity: 'nobody' } });
  expect(await ask(agent, '/custom/protected')).toEqual({
    status: 401,
    body: { detail: 'Sign in first.' },
  });
  expect((await ask(agent, '/assistants/search', { body: {} })).status).toBe(401);
  await agent.kill();
});

test('without handlers everybody may do everything', async () => {
  const agent = await start('none', { http: { app: `${TEAMS}:app` } });
  expect((await ask(agent, '/assistants/search', { body: {} })).status).toBe(200);
  expect((await ask(agent, '/threads', { body: {}, authorization: 'anything' })).status).toBe(200);
  expect(await ask(agent, '/custom/whoami')).toEqual({ status: 200, body: { identity: 'nobody' } });
  await agent.kill();
});
