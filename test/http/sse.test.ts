import { setTimeout as wait } from 'node:timers/promises';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { Unavailable } from '../../src/errors.ts';
import { answerEvents, answerSlowJson } from '../../src/http/routes/route.ts';
import { buildHeartbeat, formatSseFrame } from '../../src/http/routes/sse.ts';
import { plain, route, serve } from './kit.ts';

test.each([
  ['an event', { event: 'values', data: { a: 1 } }, 'event: values\r\ndata: {"a":1}\r\n\r\n'],
  [
    'an event that a client may resume from',
    { event: 'end', data: null, id: '12-3' },
    'event: end\r\ndata: null\r\nid: 12-3\r\n\r\n',
  ],
  ['an event without data', { event: 'end', data: undefined }, 'event: end\r\ndata: null\r\n\r\n'],
])('%s is written with CRLF and one line of JSON', (_, message, text) => {
  expect(formatSseFrame(message)).toBe(text);
});

describe('a stream', () => {
  test('beats while its source is silent, and ends with it', async () => {
    const events = async function* () {
      yield { event: 'a', data: 1 };
      await wait(600);
      yield { event: 'b', data: 2 };
    };
    const server = await serve(
      [route({ ...plain, method: 'get', path: '/s', handler: () => answerEvents(events) })],
      { heartbeatSeconds: 0.05 },
    );
    const text = await (await fetch(`${server.url}/s`)).text();
    const [first, last] = [
      formatSseFrame({ event: 'a', data: 1 }),
      formatSseFrame({ event: 'b', data: 2 }),
    ];
    expect([text.slice(0, first.length), text.slice(-last.length)]).toEqual([first, last]);
    const beats = text.slice(first.length, -last.length);
    // There are twelve in 600 ms. A busy machine merges some.
    expect([
      beats.length >= 2 * buildHeartbeat().length,
      beats.replaceAll(buildHeartbeat(), ''),
    ]).toEqual([true, '']);
    await server.stop();
  });

  test('runs the finally of its source where the client has left before it begins', async () => {
    const ended = Promise.withResolvers<boolean>();
    const asked = Promise.withResolvers<void>();
    const events = async function* (signal: AbortSignal) {
      try {
        yield { event: 'a', data: 1 };
      } finally {
        ended.resolve(signal.aborted);
      }
    };
    const handler = async ({ signal }: { signal: AbortSignal }) => {
      asked.resolve();
      await once(signal, 'abort');
      return answerEvents(events);
    };
    const server = await serve([route({ ...plain, method: 'get', path: '/s', handler })]);
    const leaving = new AbortController();
    const answer = fetch(`${server.url}/s`, { signal: leaving.signal }).catch(() => undefined);
    await asked.promise;
    leaving.abort();
    await answer;
    expect(await ended.promise).toBe(true);
    await server.stop();
  });

  test('runs the finally of its source as soon as the client leaves', async () => {
    const ended = Promise.withResolvers<void>();
    const events = async function* (signal: AbortSignal) {
      try {
        yield { event: 'a', data: 1 };
        await once(signal, 'abort');
        yield { event: 'never', data: 2 };
      } finally {
        ended.resolve();
      }
    };
    const server = await serve([
      route({ ...plain, method: 'get', path: '/s', handler: () => answerEvents(events) }),
    ]);
    const leaving = new AbortController();
    const response = await fetch(`${server.url}/s`, { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    await expect(ended.promise).resolves.toBeUndefined();
    await server.stop();
  });

  test('tells of a failure inside the stream, without its message', async () => {
    const events = async function* () {
      yield { event: 'a', data: 1 };
      throw new Error('password=hunter2');
    };
    const server = await serve([
      route({ ...plain, method: 'get', path: '/s', handler: () => answerEvents(events) }),
    ]);
    const text = await (await fetch(`${server.url}/s`)).text();
    expect(text).toContain(
      'event: error\r\ndata: {"error":"StreamError","message":"Internal Server Error"}',
    );
    expect(text).not.toContain('hunter2');
    await server.stop();
  });

  test('that has ids gives a failure the id of the message before it, or else where the client stands', async () => {
    const events = (...ids: string[]) =>
      async function* () {
        yield ids.map((id) => ({ event: 'a', data: 1, id }));
        yield { event: 'b', data: 2 };
        throw new Unavailable('The database does not answer.');
      };
    const [begun, empty] = [
      answerEvents(events('7-1', '7-2'), { idsFrom: '5-0' }),
      answerEvents(events(), { idsFrom: '5-0' }),
    ];
    const routes = [begun, empty].map((reply, at) =>
      route({ ...plain, method: 'get', path: `/s${at}`, handler: () => reply }),
    );
    const server = await serve(routes);
    const idsOf = async (path: string) =>
      [...(await (await fetch(server.url + path)).text()).matchAll(/^id: (.*)\r$/gm)].map(
        ([, id]) => id,
      );
    expect(await idsOf('/s0')).toEqual(['7-1', '7-2', '7-2', '7-2']);
    expect(await idsOf('/s1')).toEqual(['5-0', '5-0']);
    await server.stop();
  });

  test('waits for a reader who does not read', async () => {
    let made = 0;
    const events = async function* (signal: AbortSignal) {
      while (!signal.aborted && made < 5000) {
        made += 1;
        yield { event: 'a', data: 'x'.repeat(10_000) };
      }
    };
    const server = await serve([
      route({ ...plain, method: 'get', path: '/s', handler: () => answerEvents(events) }),
    ]);
    const leaving = new AbortController();
    await fetch(`${server.url}/s`, { signal: leaving.signal });
    await wait(300);
    expect(made).toBeLessThan(5000);
    leaving.abort();
    await server.stop();
  });
});

describe('a slow answer', () => {
  test('keeps the connection alive with blank lines until the JSON is known', async () => {
    const body = async () => {
      await wait(600);
      return { done: true };
    };
    const server = await serve(
      [route({ ...plain, method: 'get', path: '/w', handler: () => answerSlowJson(body) })],
      { heartbeatSeconds: 0.05 },
    );
    const text = await (await fetch(`${server.url}/w`)).text();
    expect(text.startsWith('\n\n')).toBe(true);
    expect(JSON.parse(text)).toEqual({ done: true });
    await server.stop();
  });

  test('that fails at once has the status of its failure; one that fails later tells it in its body', async () => {
    const failing = (milliseconds: number) => async () => {
      await wait(milliseconds);
      throw new Unavailable('The database does not answer.');
    };
    const routes = [0, 300].map((late) =>
      route({
        ...plain,
        method: 'get',
        path: `/w${late}`,
        handler: () => answerSlowJson(failing(late)),
      }),
    );
    const server = await serve(routes);
    const soon = await fetch(`${server.url}/w0`);
    expect([soon.status, await soon.json()]).toEqual([
      503,
      { detail: 'The database does not answer.' },
    ]);
    const late = await fetch(`${server.url}/w300`);
    expect([late.status, await late.json()]).toEqual([
      200,
      { __error__: { error: 'Unavailable', message: 'The database does not answer.' } },
    ]);
    await server.stop();
  });
});
