import { Type } from 'typebox';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Unauthorized } from '../../src/errors.ts';
import { json } from '../../src/http/route.ts';
import { limits, plain, route, serve } from './kit.ts';

const MEBIBYTE = 1024 * 1024;

let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  const guarded = route({ ...plain, method: 'post', path: '/guarded', access: 'write', body: Type.Object({}), handler: () => json({}) });
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
  return { socket, closed, status: answer.toString().split(' ')[1], left: (): number => socket.writableLength };
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
  const answer = await fetch(`${server.url}/guarded`, { method: 'POST', body: new Uint8Array(16 * MEBIBYTE) });
  expect(answer.status).toBe(401);
  expect(await answer.json()).toEqual({ detail: 'no key' });
});
