import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FOR_DEPLOYMENT } from '../../../src/schema/wire/auth-check.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;

const limits = { streamsPerKey: 2, streamsPerTenant: 3, failedLoginsPerMinute: 20 };
beforeAll(async () => {
  plane = await startPlane('limits', { limits });
});
afterAll(() => plane.stop());

describe('forged keys', () => {
  test('are refused once an address has tried too many, while a known key passes', async () => {
    for (const key of [plane.keys.write, plane.keys.read])
      expect((await plane.call('GET', '/v2/deployments', { key })).status).toBe(200);
    const forged = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        fetch(`${plane.url}/v2/deployments`, { headers: { 'x-api-key': `gx_forged-${index}` } }),
      ),
    );
    const statuses = forged.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(
      limits.failedLoginsPerMinute + 5,
    );
    const refused = forged.find(({ status }) => status === 429)!;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await plane.call('GET', '/v2/deployments')).status).toBe(200);
  });
});

describe('behind a proxy', () => {
  const forge = async (
    { url }: Pick<Plane, 'url'>,
    client: string,
    count: number,
  ): Promise<number[]> => {
    const asked = Array.from({ length: count }, (_, index) =>
      fetch(`${url}/v2/deployments`, {
        headers: { 'x-api-key': `gx_forged-${client}-${index}`, 'x-forwarded-for': client },
      }),
    );
    return (await Promise.all(asked)).map(({ status }) => status);
  };

  test('forged keys of one client take nothing from another one, and audit lines name the client', async () => {
    const proxied = await startPlane('proxied', { limits, trustedProxies: ['127.0.0.0/8'] });
    expect(await forge(proxied, '203.0.113.1', 60)).toContain(429);
    // The client wrote the first address itself.
    expect(await forge(proxied, '198.51.100.9, 203.0.113.1', 1)).toEqual([429]);
    expect(await forge(proxied, '203.0.113.2', 1)).toEqual([401]);
    await proxied.call('POST', '/v2/deployments', {
      body: creation('told'),
      headers: { 'x-forwarded-for': '203.0.113.2' },
    });
    await expect.poll(proxied.logged).toMatch(/"audit":true.*"source":"203\.0\.113\.2"/);
    await proxied.stop();
  });

  test('that nobody trusts, all clients share one bound, whatever they claim', async () => {
    const direct = await startPlane('direct', { limits });
    await direct.call('POST', '/v2/deployments', {
      body: creation('told'),
      headers: { 'x-forwarded-for': '203.0.113.2' },
    });
    await expect.poll(direct.logged).toMatch(/"audit":true.*"source":"127\.0\.0\.1"/);
    expect(await forge(direct, '203.0.113.1', 60)).toContain(429);
    expect(await forge(direct, '203.0.113.2', 1)).toEqual([429]);
    await direct.stop();
  });
});

test('keys that are forged at one deployment take nothing from others whose agents have the same address', async () => {
  const made = await Promise.all(
    ['attacked', 'calm'].map(
      async (name) =>
        (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation(name) })).body.id,
    ),
  );
  const [attacked = '', calm = ''] = made;
  const check = (key: string, id: string) =>
    plane.call('POST', '/v2/auth/check', {
      key,
      headers: { [FOR_DEPLOYMENT]: id },
      body: { deployment_id: id },
    });
  const forged = await Promise.all(
    Array.from({ length: 60 }, (_, index) => check(`gx_forged-${index}`, attacked)),
  );
  expect(new Set(forged.map(({ status }) => status))).toEqual(new Set([401, 429]));
  // This replica has not seen the key yet, and knows that it was made here.
  expect((await check(plane.keys.other, attacked)).status).toBe(404);
  expect((await check(plane.keys.other, calm)).status).toBe(404);
});

test('a deployment that does not exist is no way around the bound of an address', async () => {
  const guess = (index: number) =>
    plane.call('POST', '/v2/auth/check', {
      key: `gx_guess-${index}`,
      headers: { [FOR_DEPLOYMENT]: crypto.randomUUID() },
      body: {},
    });
  const statuses = (await Promise.all(Array.from({ length: 60 }, (_, index) => guess(index)))).map(
    ({ status }) => status,
  );
  expect(statuses).toContain(429);
});

describe('open streams', () => {
  let made: Deployment;
  beforeAll(async () => {
    made = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('streamed') }))
      .body;
  });

  const open = async (
    key: string,
    kind = 'events',
  ): Promise<{ status: number; after: string | null; leave: () => void }> => {
    const leaving = new AbortController();
    const response = await fetch(`${plane.url}/v2/deployments/${made.id}/${kind}`, {
      headers: { 'x-api-key': key },
      signal: leaving.signal,
    });
    return {
      status: response.status,
      after: response.headers.get('retry-after'),
      leave: () => leaving.abort(),
    };
  };

  test('are bounded for a key and for all keys of its tenant, and make room when they end', async () => {
    const first = await open(plane.keys.write);
    const second = await open(plane.keys.write, 'logs/stream');
    const third = await open(plane.keys.write);
    expect([first, second, third].map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Number(third.after)).toBeGreaterThan(0);
    const other = await open(plane.keys.read);
    expect([other.status, (await open(plane.keys.read)).status]).toEqual([200, 429]);
    expect((await plane.call('GET', `/v2/deployments/${made.id}`)).status).toBe(200);
    first.leave();
    await expect.poll(async () => (await open(plane.keys.read)).status).toBe(200);
  });
});
