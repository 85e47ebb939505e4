import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TenantKeys } from '../../../src/tokens/tenant-keys.ts';
import { silentLog } from '../../kit/log.ts';

/* What an agent believes of the keys of its tenant, and for how long. */

const GOOD = `gx_${'g'.repeat(43)}`;
const OTHER = `gx_${'o'.repeat(43)}`;
const ANSWER = {
  tenant_id: '00000000-0000-4000-8000-000000000000',
  role: 'write',
  subject: '1234',
  name: 'ci',
};
const MINUTE = 60_000;
const forged = (index: number): string => `gx_${String(index).padStart(43, 'f')}`;

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
      response.writeHead(status ?? (key === GOOD ? 200 : 401), {
        'content-type': 'application/json',
        connection: 'close',
        'retry-after': '7',
      });
      response.end(JSON.stringify(ANSWER));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  keys = new TenantKeys({
    place: { url, deploymentId: 'the-id' },
    log: silentLog(),
    clock: () => now,
    patience: 60_000,
  });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const find = (key: string, reads = true, source = '10.0.0.1') => keys.find(key, { reads, source });

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

test.each([401, 403, 404])(
  'status %i means that the key does not open the deployment',
  async (refusal) => {
    status = refusal;
    expect(await find(GOOD)).toBeUndefined();
  },
);

test('what is no key of the REST API is not sent there', async () => {
  for (const text of [`gxa_${'k'.repeat(43)}`, 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln', '', 'gx_short'])
    expect(await find(text)).toBeUndefined();
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

describe('forged keys', () => {
  /** Shows keys that nobody made, from one address each, and returns how many were refused with a 401 and a 429. */
  const forge = async (
    count: number,
    from: (index: number) => string,
  ): Promise<[unknown: number, tooMany: number]> => {
    const results = await Promise.allSettled(
      Array.from({ length: count }, (_, index) => find(forged(index), false, from(index))),
    );
    const tooMany = results.filter(
      (one) => one.status === 'rejected' && (one.reason as { status?: number }).status === 429,
    ).length;
    return [results.filter(({ status: is }) => is === 'fulfilled').length, tooMany];
  };

  test('of one address are asked about sixty times a minute, and keys of others as before', async () => {
    expect(await forge(1000, () => '10.6.6.6')).toEqual([60, 940]);
    expect(asked).toHaveLength(60);
    expect(await find(GOOD, false, '10.0.0.1')).toEqual(ANSWER);
    now = MINUTE;
    expect(await forge(1, () => '10.6.6.6')).toEqual([1, 0]);
  });

  test('of many addresses make no key fail that was good lately', async () => {
    await find(GOOD, false, '10.6.6.6');
    expect(await forge(1000, (index) => `10.6.6.${index % 100}`)).toEqual([300, 700]);
    now = 31_000;
    expect(await find(GOOD, false, '10.6.6.6')).toEqual(ANSWER);
  });

  test('for which the control plane answers 429 are no outage: other keys are asked about at once', async () => {
    status = 429;
    await expect(find(forged(1), false)).rejects.toMatchObject({
      status: 429,
      headers: { 'retry-after': '7' },
    });
    status = undefined;
    expect(await find(GOOD, false)).toEqual(ANSWER);
  });

  test('leave a key that was good lately its right to read while the control plane answers 429', async () => {
    await find(GOOD);
    status = 429;
    now = MINUTE;
    expect(await find(GOOD)).toEqual({ ...ANSWER, role: 'read' });
    await expect(find(GOOD, false)).rejects.toMatchObject({ status: 429 });
  });
});
