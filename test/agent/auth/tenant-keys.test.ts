import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TenantKeys } from '../../../src/tokens/tenant-keys.ts';
import { silentLog } from '../../kit/log.ts';

/* What an agent believes of the keys of its tenant, and for how long. */

const GOOD = `gx_${'g'.repeat(43)}`;
const OTHER = `gx_${'o'.repeat(43)}`;
const ANSWER = { tenant_id: '00000000-0000-4000-8000-000000000000', role: 'write', subject: '1234', name: 'ci' };
const MINUTE = 60_000;

let server: Server;
let asked: { key: string | undefined; body: unknown }[];
let status: number | undefined;
let keys: TenantKeys;
let now: number;

beforeEach(async () => {
  asked = [];
  status = undefined;
  now = 0;
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const key = request.headers['x-api-key'] as string | undefined;
      asked.push({ key, body: JSON.parse(text) });
      response.writeHead(status ?? (key === GOOD ? 200 : 401), { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify(ANSWER));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  keys = new TenantKeys({ place: { url, deploymentId: 'the-id' }, log: silentLog(), clock: () => now });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const find = (key: string, reads = true) => keys.find(key, { reads });

test('the control plane is asked with the key itself, and for the deployment', async () => {
  expect(await find(GOOD)).toEqual(ANSWER);
  expect(asked).toEqual([{ key: GOOD, body: { deployment_id: 'the-id' } }]);
});

test('one question serves many requests, and its answer is believed for half a minute', async () => {
  await Promise.all([find(GOOD), find(GOOD), find(GOOD)]);
  now = 29_000;
  await find(GOOD);
  expect(asked).toHaveLength(1);
  now = 31_000;
  await find(GOOD);
  expect(asked).toHaveLength(2);
});

test('a refusal is believed for ten seconds', async () => {
  expect([await find(OTHER), await find(OTHER)]).toEqual([undefined, undefined]);
  expect(asked).toHaveLength(1);
  now = 11_000;
  await find(OTHER);
  expect(asked).toHaveLength(2);
});

test.each([401, 403, 404])('status %i means that the key does not open the deployment', async (refusal) => {
  status = refusal;
  expect(await find(GOOD)).toBeUndefined();
});

test('what is no key of the REST API is not sent there', async () => {
  for (const text of [`gxa_${'k'.repeat(43)}`, 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln', '', 'gx_short']) expect(await find(text)).toBeUndefined();
  expect(asked).toEqual([]);
});

test('while the control plane is away, a key that was good may read for an hour, and not write', async () => {
  await find(GOOD);
  status = 500;
  now = MINUTE;
  expect(await find(GOOD)).toEqual({ ...ANSWER, role: 'read' });
  now += 2000;
  await expect(find(GOOD, false)).rejects.toThrow('The control plane does not answer');
  await expect(find(OTHER)).rejects.toThrow('The control plane does not answer');
  now = 61 * MINUTE;
  await expect(find(GOOD)).rejects.toThrow('The control plane does not answer');
  status = undefined;
  now += 2000;
  expect(await find(GOOD)).toEqual(ANSWER);
});

test('one that is away is asked once a second at most', async () => {
  status = 503;
  await expect(find(GOOD)).rejects.toThrow('does not answer');
  await expect(find(OTHER)).rejects.toThrow('does not answer');
  expect(asked).toHaveLength(1);
  now = 1001;
  await expect(find(OTHER)).rejects.toThrow('does not answer');
  expect(asked).toHaveLength(2);
});
