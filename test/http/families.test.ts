import { expect, test } from 'vitest';
import { resolveClient, isNeverTrusted } from '../../src/http/callers/client.ts';
import { answerJson } from '../../src/http/routes/route.ts';
import { plain, route, serve } from './kit.ts';

test.each([
  ['IPv4', '203.0.113.7', '203.0.113.7'],
  ['IPv4 at a server of both families', '::ffff:203.0.113.7', '203.0.113.7'],
  ['the same in capitals', '::FFFF:127.0.0.1', '127.0.0.1'],
  ['IPv6', '2001:db8::7', '2001:db8::7'],
  ['IPv6 that only looks like it', '::ffff:1:2', '::ffff:1:2'],
  ['a connection that is gone', undefined, 'unknown'],
])('a caller over %s is known by its own address', (_, remoteAddress, source) => {
  expect(resolveClient({ headers: {} }, remoteAddress, isNeverTrusted).source).toBe(source);
});

test('a server of both families answers over each of them', async () => {
  const routes = [
    route({
      ...plain,
      method: 'get',
      path: '/who',
      handler: ({ caller }) => answerJson({ caller }),
    }),
  ];
  const server = await serve(
    routes,
    { authenticate: (_headers, _access, { source }) => source },
    '::',
  );
  for (const [address, caller] of [
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
  ] as const) {
    const answer = await fetch(`http://${address}:${server.port}/who`);
    expect(await answer.json()).toEqual({ caller });
  }
  await server.stop();
});
