import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { watchNeighbours, type Watch } from './isolation.ts';

/* A server with planted faults. The caller `neighbour` owns what holds the canary; everybody else is a stranger. */

const CANARY = 'cn0123456789ab';
const ID = '5f0c3f0e-7d0c-4f0e-9a3b-0d5a3c1b2e4f';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Watches a server that answers a stranger as told. */
async function watch(
  answer: RequestListener,
  records: Record<string, string> = {},
  log: string[] = [],
): Promise<Watch> {
  const server = createServer((request, response) => {
    if (request.headers.authorization === 'neighbour')
      response.end(JSON.stringify({ note: CANARY }));
    else answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const watched = await watchNeighbours(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    {
      canaries: [CANARY],
      ids: [ID],
      look: async (url) => (await fetch(url, { headers: { authorization: 'neighbour' } })).text(),
      records: async () => ({ ...records }),
      logged: () => log.join(''),
    },
  );
  ends.push(watched.stop);
  return watched;
}

const ask = async (url: string, body?: string): Promise<string> =>
  (await fetch(url, { ...(body && { method: 'POST', body }) })).text();

describe('an answer that shows what is a neighbour’s', () => {
  test.each<[string, RequestListener]>([
    [
      'in its body',
      (_, response) => response.end(JSON.stringify({ detail: `${CANARY} is taken` })),
    ],
    [
      'in a header',
      (_, response) => response.writeHead(404, { 'content-location': `/${CANARY}` }).end(),
    ],
  ])('is found %s', async (_, answer) => {
    const { url, faults } = await watch(answer);
    await ask(`${url}/threads/${ID}/state?a=1`);
    expect(await faults()).toEqual([
      expect.stringMatching(`GET /threads/{id}/state answers with what is another's .*${CANARY}`),
    ]);
  });

  test('is found where it comes in two pieces', async () => {
    const begun = Promise.withResolvers<ServerResponse>();
    const { url, faults } = await watch((_, response) => {
      response.writeHead(200, { 'content-length': CANARY.length }).write(CANARY.slice(0, 5));
      begun.resolve(response);
    });
    const reader = (await fetch(url)).body?.getReader();
    await reader?.read();
    (await begun.promise).end(CANARY.slice(5));
    await reader?.read();
    expect(await faults()).toEqual([expect.stringContaining(CANARY)]);
  });

  test('is found in a stream that the caller leaves', async () => {
    const { url, faults } = await watch(
      (_, response) => void response.write(`data: ${CANARY}\n\n`),
    );
    const leaving = new AbortController();
    await fetch(`${url}/events`, { signal: leaving.signal });
    await expect.poll(faults).toEqual([expect.stringContaining('GET /events')]);
    leaving.abort();
  });

  test('is told once for each operation, however many there are', async () => {
    const { url, faults } = await watch((_, response) => response.end(CANARY));
    await ask(`${url}/a/${ID}`);
    await ask(`${url}/a/${crypto.randomUUID()}`);
    await ask(`${url}/b`, 'x');
    expect(await faults()).toEqual([
      expect.stringContaining('GET /a/{id} '),
      expect.stringContaining('POST /b '),
    ]);
  });
});

test.each([
  ['changed', { 'Thread 1': 'other', 'Item 1': 'mine' }, 'Thread 1'],
  ['removed', { 'Item 1': 'mine' }, 'Thread 1'],
  ['added', { 'Thread 1': 'mine', 'Item 1': 'mine', 'Run 1': 'of a stranger' }, 'Run 1'],
])('a neighbour’s record that a request has %s is named', async (_, after, name) => {
  const records: Record<string, string> = { 'Thread 1': 'mine', 'Item 1': 'mine' };
  const { faults } = await watch((_request, response) => response.end(), records);
  for (const key of Object.keys(records)) delete records[key];
  Object.assign(records, after);
  expect(await faults()).toEqual([`${name} of a neighbour was changed`]);
});

test('a server that keeps to its callers is clean, and the requests that named a neighbour’s record are counted', async () => {
  const { url, faults, named } = await watch((_, response) =>
    response.writeHead(404).end(JSON.stringify({ detail: `${ID} not found` })),
  );
  await ask(`${url}/threads/${ID}`);
  await ask(`${url}/runs/cancel`, JSON.stringify({ thread_id: ID }));
  await ask(`${url}/threads/${crypto.randomUUID()}`);
  expect([await faults(), named()]).toEqual([[], 2]);
});

test('requests that never named a neighbour’s record prove nothing', async () => {
  const { url, named } = await watch((_, response) => response.end());
  await ask(`${url}/threads`);
  expect(named).toThrow('nothing is proven');
});

test('a canary that its owner does not see proves nothing', async () => {
  const blind = watchNeighbours('http://127.0.0.1:9', {
    canaries: [CANARY],
    ids: [],
    look: async () => '',
    records: async () => ({}),
    logged: () => '',
  });
  await expect(blind).rejects.toThrow('no leak could be found');
});

test('a line of the log that holds what is a neighbour’s is found, unless it was there before', async () => {
  const log = [`made ${CANARY} for its owner\n`];
  const { faults } = await watch((_, response) => response.end(), {}, log);
  expect(await faults()).toEqual([]);
  log.push('nothing to see\n', `refused: ${CANARY} is taken\n`);
  expect(await faults()).toEqual([
    expect.stringContaining(`logged what a neighbour has: refused: ${CANARY}`),
  ]);
});
