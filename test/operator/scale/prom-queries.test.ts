import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { parsePromValue } from '../../../src/operator/scale/prom-answer.ts';
import { PromQueries } from '../../../src/operator/scale/prom-queries.ts';
import { expandQuery } from '../../../src/schema/platform/rollout/rollout-trial.ts';
import { until } from '../../kit/until.ts';

/* Queries about revisions, and a server that does not answer as it should. */

const vector = (...values: string[]): object => ({
  status: 'success',
  data: {
    resultType: 'vector',
    result: values.map((value) => ({ metric: {}, value: [1, value] })),
  },
});

test('names stand in a query where its words in braces are, and nowhere else', () => {
  const query =
    'a{namespace="{namespace}", b="{deployment}/{revision}", c="{other}"} / a{revision="{revision}"}';
  expect(
    expandQuery(query, { namespace: 'team', deployment: 'chat', revision: 'chat-00002' }),
  ).toBe('a{namespace="team", b="chat/chat-00002", c="{other}"} / a{revision="chat-00002"}');
});

describe('an answer', () => {
  test('of one number is that number', () => {
    expect(parsePromValue(vector('1.5'))).toEqual({ value: 1.5 });
    expect(
      parsePromValue({ status: 'success', data: { resultType: 'scalar', result: [1, '-2'] } }),
    ).toEqual({ value: -2 });
  });
  test.each([
    ['no series', vector(), 'has no data'],
    ['no number', vector('NaN'), 'has no data'],
    ['an infinite one', vector('+Inf'), 'has no data'],
    ['several series', vector('1', '2'), '2 series instead of one'],
    [
      'a range',
      { status: 'success', data: { resultType: 'matrix', result: [] } },
      'something other',
    ],
    [
      'a refusal',
      { status: 'error', errorType: 'bad_data', error: 'parse error' },
      'refuses it: parse error',
    ],
    ['other JSON', ['success'], 'something other'],
  ])('of %s says what is wrong', (_, answer, words) => {
    expect(parsePromValue(answer)).toEqual({ lacks: expect.stringContaining(words) as string });
  });
});

const REVISIONS = { candidate: 'chat-00002', stable: 'chat-00001' };
const QUERY = 'a{revision="{revision}"}';
const checks = [{ query: QUERY }];
const { signal } = new AbortController();
const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

async function served(answer: (response: ServerResponse) => void): Promise<PromQueries> {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new PromQueries({ url, log: createLog({ level: 'silent', process: 'test' }) });
}

test.each<[string, (response: ServerResponse) => void, string]>([
  ['with a page', (response) => response.writeHead(502).end('<html>'), 'answers 502'],
  [
    'with more than anybody reads',
    (response) => response.end('x'.repeat(100_000)),
    'more than a number',
  ],
  ['elsewhere', (response) => response.writeHead(302, { location: '/' }).end(), 'does not answer'],
  ['by hanging up', (response) => response.destroy(), 'does not answer'],
])('a server that answers %s is waited for', async (_, answer, words) => {
  const queries = await served(answer);
  queries.ask('team/chat', { ...REVISIONS, queries: [QUERY] }, signal);
  const found = await until('it is answered', () =>
    queries.getAnswers('team/chat', { ...REVISIONS, checks }).get(QUERY),
  );
  expect(found).toMatchObject({
    lacks: expect.stringContaining(`${words} (chat-00002)`) as string,
  });
  queries.dropAnswers('team/chat');
  expect(queries.getAnswers('team/chat', { ...REVISIONS, checks }).size).toBe(0);
});

test('few are asked at a time, each once, and all in the end', async () => {
  let [open, most, asked] = [0, 0, 0];
  const queries = await served((response) => {
    open += 1;
    asked += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      response.end(JSON.stringify(vector('1')));
    }, 20);
  });
  const names = Array.from({ length: 20 }, (_, at) => `team/chat-${at}`);
  for (const name of [...names, ...names])
    queries.ask(name, { ...REVISIONS, queries: [QUERY] }, signal);
  await until('all are answered', () =>
    names.every((name) => queries.getAnswers(name, { ...REVISIONS, checks }).size === 1),
  );
  expect([asked, most <= 8]).toEqual([40, true]);
  expect(queries.getAnswers(names[0]!, { ...REVISIONS, checks }).get(QUERY)).toMatchObject({
    candidate: 1,
    stable: 1,
  });
});

test('one namespace whose queries are never answered holds up none of another', async () => {
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.once('end', () => {
      if (text.includes('evil')) held.add(response);
      else response.end(JSON.stringify(vector('1')));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const queries = new PromQueries({ url, log: createLog({ level: 'silent', process: 'test' }) });
  const query = 'a{namespace="{namespace}", revision="{revision}"}';
  for (let index = 0; index < 50; index += 1)
    queries.ask(`evil/flood-${index}`, { ...REVISIONS, queries: [query] }, signal);
  await until('the first ones are held', () => held.size >= 4);
  queries.ask('team/chat', { ...REVISIONS, queries: [query] }, signal);
  await until(
    'the other one is answered',
    () => queries.getAnswers('team/chat', { ...REVISIONS, checks: [{ query }] }).size === 1,
    5,
  );
  expect(held.size).toBe(4);
});
