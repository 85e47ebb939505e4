import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../kit/until.ts';
import { atAgent, KEY, openAgentStage, signedInAt, type AgentStage } from './agent-kit.ts';
import { Browser } from './kit.ts';

/* The way from the page to agents: by a pass, to an address of names, and for as long as its user may. */

let stage: AgentStage;
/** Has a key of its own for each test, so that none finds the pass of another. */
let browser: Browser;
beforeAll(async () => void (stage = await openAgentStage()));
afterAll(() => stage.stop());

let tenant = 0;
let own: Record<string, string>;
beforeEach(async () => {
  tenant += 1;
  own = { 'x-tenant-id': `t${tenant}` };
  stage.answersPass({});
  stage.answers((_, reply) => json(reply, { hello: 'page' }));
  browser = await signedInAt(stage);
  stage.asked.length = 0;
  stage.passes.length = 0;
  stage.hosts.clear();
});

const json = (reply: ServerResponse, body: unknown, status = 200): void =>
  void reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const ask = (path: string, given: Parameters<Browser['ask']>[1] = {}): Promise<Response> =>
  browser.ask(atAgent(path), { ...given, headers: { ...own, ...given.headers } });
const lines = (): string[] => stage.asked.map(({ line }) => line);

describe('a request', () => {
  test('goes to the agent with a pass of its user, and without any other credential', async () => {
    const headers = {
      authorization: 'Bearer mine',
      'x-api-key': 'mine',
      cookie2: 'x',
      'x-forwarded-for': '6.6.6.6',
      forwarded: 'for=6',
    };
    const answer = await ask('/threads/search?x=%2F', {
      method: 'POST',
      body: { limit: 1 },
      headers,
    });
    expect([answer.status, await answer.json()]).toEqual([200, { hello: 'page' }]);
    expect(stage.passes.map(({ path }) => path)).toEqual([
      `POST /v2/deployments/${atAgent('').split('/').at(-1)}/agent-pass`,
    ]);
    expect(stage.passes[0]!.headers).toMatchObject({
      'x-api-key': KEY,
      'x-tenant-id': own['x-tenant-id'],
    });
    expect(lines()).toEqual(['POST /threads/search?x=%2F']);
    const { authorization, via, ...seen } = stage.asked[0]!.headers;
    expect([authorization, via]).toEqual(['Bearer gxp_pass-1', '1.1 gx-console']);
    expect(JSON.stringify(seen)).not.toMatch(/mine|gx-console-|6\.6\.6\.6|gx_right/);
    expect(
      Object.keys(seen).filter((name) =>
        /cookie|x-api-key|forwarded|x-tenant|x-gx-console|sec-/.test(name),
      ),
    ).toEqual([]);
  });

  test('finds the agent by names, and below its prefix', async () => {
    stage.answersPass({ mount_prefix: '/team/chat' });
    expect((await ask('/info')).status).toBe(200);
    expect([[...stage.hosts], lines()]).toEqual([
      ['chat-agent.team.svc.cluster.local'],
      ['GET /team/chat/info'],
    ]);
  });

  test.each([
    { service: 'evil.example.com/' },
    { service: 'a@evil' },
    { namespace: 'team.evil.example.com' },
    { namespace: '127.0.0.1:80' },
    { mount_prefix: '/../../v2' },
    { mount_prefix: '@evil.example.com' },
    { mount_prefix: '//evil' },
  ])('goes nowhere for names that could mean another place: %o', async (names) => {
    stage.answersPass(names);
    expect((await ask('/info')).status).toBe(502);
    expect([stage.hosts.size, lines()]).toEqual([0, []]);
  });

  test.each(['/%2e%2e/x', '/a//b', '/a%2fb', '/a%5cb', '/a%00', '//evil.example.com/', ''])(
    'for the path %s reaches nobody',
    async (path) => {
      expect((await ask(path)).status).toBe(404);
      expect([stage.passes, lines()]).toEqual([[], []]);
    },
  );

  test('for anything but an id of a deployment reaches nobody', async () => {
    for (const path of ['api/agents/chat/info', 'api/agents/', 'api/agents/evil.example.com/info'])
      expect((await browser.ask(path)).status).toBe(404);
    expect([stage.passes, lines()]).toEqual([[], []]);
  });

  test('that a browser opens as a page, a frame, an image or a script is refused', async () => {
    for (const aim of [
      'document',
      'iframe',
      'image',
      'script',
      'style',
      'object',
      'worker',
      'serviceworker',
    ])
      expect((await ask('/info', { headers: { 'sec-fetch-dest': aim } })).status).toBe(403);
    expect((await ask('/info', { headers: { 'sec-fetch-dest': 'empty' } })).status).toBe(200);
    expect(lines()).toEqual(['GET /info']);
  });

  test('of another page, or without a session, is refused and asks for no pass', async () => {
    expect(
      (
        await ask('/threads', {
          method: 'POST',
          body: {},
          headers: { 'sec-fetch-site': 'cross-site' },
        })
      ).status,
    ).toBe(403);
    expect(
      (await ask('/threads', { method: 'POST', body: {}, headers: { 'x-gx-console': '' } })).status,
    ).toBe(403);
    const stranger = await new Browser(stage.running.url).ask(atAgent('/info'));
    expect([stranger.status, await stranger.json()]).toMatchObject([401, { reason: 'signed_out' }]);
    expect([stage.passes, lines()]).toEqual([[], []]);
  });

  test('to a deployment that sleeps is refused, and looks again as soon as it is asked once more', async () => {
    stage.answersPass({ asleep_since: '2027-01-01T00:00:00.000Z' });
    const answer = await ask('/info');
    expect([answer.status, await answer.json()]).toEqual([
      409,
      { detail: 'The deployment sleeps. Opening this page does not wake it.' },
    ]);
    expect(lines()).toEqual([]);
    stage.answersPass({});
    expect((await ask('/info')).status).toBe(200);
  });

  test('of somebody who may only read changes nothing at an agent that guards nothing', async () => {
    for (const guard of ['open', null] as const) {
      own = { 'x-tenant-id': `reader-${String(guard)}` };
      stage.answersPass({ role: 'read', guard });
      const status = async (method: string, path: string): Promise<number> =>
        (await ask(path, { method })).status;
      expect([
        await status('POST', '/threads'),
        await status('DELETE', '/threads/a'),
        await status('POST', '/a/search/b'),
      ]).toEqual([403, 403, 403]);
      expect([
        await status('GET', '/threads/a'),
        await status('POST', '/threads/search?a'),
      ]).toEqual([200, 200]);
    }
  });
});

describe('a pass', () => {
  test('serves many requests at a time, and none of another tenant', async () => {
    await Promise.all([1, 2, 3].map(() => ask('/info')));
    expect((await ask('/info')).status).toBe(200);
    expect(stage.passes).toHaveLength(1);
    own = { 'x-tenant-id': 'another' };
    expect((await ask('/info')).status).toBe(200);
    expect(stage.passes).toHaveLength(2);
  });

  test('that the agent refuses is renewed without the page noticing', async () => {
    expect((await ask('/info')).status).toBe(200);
    // It is new for two seconds.
    await wait(2100);
    stage.answers(({ headers }, reply) =>
      json(reply, {}, headers.authorization === 'Bearer gxp_pass-1' ? 401 : 200),
    );
    expect((await ask('/info')).status).toBe(200);
    expect(stage.passes).toHaveLength(2);
  });

  test('that the agent goes on refusing does not end the session, and costs the control plane no further one', async () => {
    stage.answers((_, reply) => json(reply, { detail: 'never' }, 401));
    const answer = await ask('/info');
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { detail: expect.stringContaining('does not let you in') },
    ]);
    for (let at = 0; at < 5; at += 1)
      expect((await ask('/threads', { method: 'POST', body: {} })).status).toBe(403);
    expect([lines().length, stage.passes.length]).toEqual([6, 1]);
  });

  test.each([
    [401, 401],
    [403, 403],
    [404, 404],
    [422, 404],
    [429, 429],
    [500, 503],
  ])('that the control plane refuses with %i is answered with %i', async (status, shown) => {
    stage.answersPass({ status });
    const answer = await ask('/info');
    const { reason } = (await answer.json()) as { reason?: string };
    expect([answer.status, reason, lines()]).toEqual([
      shown,
      status === 401 ? 'revoked' : undefined,
      [],
    ]);
  });
});

describe('a stream', () => {
  const streaming = (reply: ServerResponse): void => {
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.write('data: 1\n\n');
    const timer = setInterval(() => reply.write(': alive\n\n'), 100);
    reply.once('close', () => clearInterval(timer));
  };

  test('comes as it is sent, and ends at the agent when its reader leaves', async () => {
    let left = false;
    stage.answers((_, reply) => {
      streaming(reply);
      reply.once('close', () => (left = true));
    });
    const reader = new AbortController();
    const answer = await ask('/threads/a/stream', { signal: reader.signal });
    expect([answer.headers.get('content-type'), answer.headers.get('x-accel-buffering')]).toEqual([
      'text/event-stream; charset=utf-8',
      'no',
    ]);
    const { value } = await answer.body!.getReader().read();
    expect(Buffer.from(value).toString()).toContain('data: 1');
    reader.abort();
    await until('the agent hears it', () => left);
  });

  test('outlives its pass, which the console renews', async () => {
    stage.answersPass({ lasts: 1 });
    stage.answers((_, reply) => streaming(reply));
    const reader = new AbortController();
    const answer = await ask('/threads/a/stream', { signal: reader.signal });
    await until('it was renewed twice', () => stage.passes.length >= 3, 20);
    const { value } = await answer.body!.getReader().read();
    expect(Buffer.from(value).toString()).not.toBe('');
    reader.abort();
  });

  test.each([
    ['whose user may see the agent no more', { status: 404 }],
    ['whose key was revoked', { status: 401 }],
    ['whose user nobody can ask about until the pass is over', { status: 500 }],
  ])('%s ends, and does not look complete', async (_, refusal) => {
    stage.answersPass({ lasts: 1 });
    stage.answers((__, reply) => streaming(reply));
    const answer = await ask('/threads/a/stream');
    stage.answersPass(refusal);
    await expect(answer.text()).rejects.toThrow();
  });

  test('is one of a hundred of a session at most', async () => {
    stage.answers((_, reply) => streaming(reply));
    const reader = new AbortController();
    const open = await Promise.all(
      Array.from({ length: 100 }, () => ask('/threads/a/stream', { signal: reader.signal })),
    );
    expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await ask('/info')).status).toBe(429);
    reader.abort();
    await until(
      'there is room again',
      async () => (await ask('/threads/search', { method: 'POST', body: {} })).status !== 429,
    );
  });
});

test('a body of five megabytes is passed on as it comes', async () => {
  const counted = async (incoming: IncomingMessage, reply: ServerResponse): Promise<void> =>
    json(reply, { bytes: (await text(incoming)).length });
  stage.answers((incoming, reply) => void counted(incoming, reply));
  const answer = await ask('/threads/a/state', {
    method: 'POST',
    body: 'x'.repeat(5 * 1024 * 1024),
  });
  expect(await answer.json()).toEqual({ bytes: 5 * 1024 * 1024 });
});

test('an answer of the state of a large thread comes whole', async () => {
  const large = Buffer.alloc(20 * 1024 * 1024, 'x');
  stage.answers((_, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': large.length });
    reply.end(large);
    void once(reply, 'close');
  });
  const answer = await ask('/threads/a/state');
  expect([answer.headers.get('content-length'), (await answer.arrayBuffer()).byteLength]).toEqual([
    String(large.length),
    large.length,
  ]);
});
