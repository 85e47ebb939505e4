import { Type } from 'typebox';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Unauthorized } from '../../src/errors.ts';
import { answerJson } from '../../src/http/routes/route.ts';
import { limits, plain, route, serve } from './kit.ts';

const MEBIBYTE = 1024 * 1024;

let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  const guarded = route({
    ...plain,
    method: 'post',
    path: '/guarded',
    access: 'write',
    body: Type.Object({}),
    handler: () => answerJson({}),
  });
  const authenticate = (): string => {
    throw new Unauthorized('no key');
  };
  server = await serve([guarded], { body: limits(100 * MEBIBYTE), authenticate });
});
afterAll(() => server.stop());

/** Sends all of a body at once. Returns the status, the bytes that are left to send, and when the connection ends. */
async function refused(headers: string, bytes: number) {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`POST /guarded HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes, ' '));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)));
  return {
    socket,
    closed,
    status: answer.toString().split(' ')[1],
    left: (): number => socket.writableLength,
  };
}

test('a large body that was refused is not read, and its connection ends after the answer', async () => {
  const { status, left, closed } = await refused(`content-length: ${64 * MEBIBYTE}`, 64 * MEBIBYTE);
  expect(status).toBe('401');
  expect(left()).toBeGreaterThan(48 * MEBIBYTE);
  expect(await closed).toBe(true);
});

test('the connection of a body of unknown length ends, too', async () => {
  const { status, closed } = await refused('transfer-encoding: chunked', 0);
  expect([status, await closed]).toEqual(['401', true]);
});

test('a small one is read, and its connection serves the next request', async () => {
  const { socket, status } = await refused('content-length: 1000', 1000);
  expect(status).toBe('401');
  socket.write('POST /guarded HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}');
  const [next] = (await once(socket, 'data')) as [Buffer];
  expect(next.toString()).toContain('401');
  socket.destroy();
});

test('fetch gets its answer to a large body', async () => {
  const answer = await fetch(`${server.url}/guarded`, {
    method: 'POST',
    body: new Uint8Array(16 * MEBIBYTE),
  });
  expect(answer.status).toBe(401);
  expect(await answer.json()).toEqual({ detail: 'no key' });
});

test('a client that keeps its connections does not send its next request on one that ends', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  // All of it fits into the buffers of the sockets, so that the client has sent it before it reads its answer.
  const sizes = [1.5 * MEBIBYTE, 10, 10];
  const statuses: (number | undefined)[] = [];
  for (const size of sizes) {
    const sent = request(`${server.url}/guarded`, {
      method: 'POST',
      agent,
      headers: { 'content-length': size },
    });
    sent.end(Buffer.alloc(size, ' '));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    statuses.push(answer.resume().statusCode);
    await once(answer, 'end');
  }
  agent.destroy();
  expect(statuses).toEqual([401, 401, 401]);
});
