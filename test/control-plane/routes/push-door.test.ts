import { createHmac, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Kube } from '../../../src/kube/kube.ts';
import { HEADERS, PAYLOADS } from '../../git/payloads.ts';
import { startPlane, type Plane } from '../kit/api-server-plane.ts';

const SECRET = 'a secret of the webhook';
const MEBIBYTE = 1024 * 1024;
let secretReads = 0;
const countingSecrets = (kube: Kube): Kube =>
  new Proxy(kube, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: [{ kind?: string }]): unknown => {
        if (name === 'find' && given[0].kind === 'Secret') secretReads += 1;
        return (value as (...all: unknown[]) => unknown).apply(target, given);
      };
    },
  });

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane(
    'push-door',
    { hosting: 'both', gitNamespace: 'default' },
    { through: countingSecrets },
  );
});
afterAll(() => plane.stop());

const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

async function integration(name: string): Promise<string> {
  const body = { name, kind: 'github', webhook_secret: SECRET };
  return (
    await plane.call<{ id: string }>('POST', '/v1/integrations/git', {
      key: plane.keys.admin,
      body,
    })
  ).body.id;
}

async function deliver(id: string, secret = SECRET): Promise<number> {
  const body = JSON.stringify(PAYLOADS.github());
  const hmac = createHmac('sha256', secret).update(body).digest('hex');
  const headers = { ...HEADERS.github, 'x-hub-signature-256': `sha256=${hmac}` };
  return (
    await fetch(`${plane.url}/v1/integrations/git/${id}/push`, { method: 'POST', body, headers })
  ).status;
}

/** Announces an event of 5 MiB, and sends all but its last byte. Returns the status once there is one. */
function withheld(id: string): Promise<number> {
  const { hostname, port } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  open.push(socket);
  socket.on('error', () => undefined);
  const bytes = 5 * MEBIBYTE;
  socket.write(
    `POST /v1/integrations/git/${id}/push HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bytes - 1, ' '));
  return new Promise((resolve) => {
    socket.once('data', (chunk) =>
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString())?.[1])),
    );
  });
}

test('a stranger is refused before a byte of the event is read', async () => {
  const statuses = await Promise.all(Array.from({ length: 20 }, () => withheld(randomUUID())));
  expect(new Set(statuses)).toEqual(new Set([401]));
});

test('whoever knows an id keeps few bytes in memory, not for long, and keeps no other integration waiting', async () => {
  const [known, other] = [await integration('known'), await integration('other')];
  const began = performance.now();
  const held = Array.from({ length: 4 }, () => withheld(known));
  await expect.poll(() => withheld(known), { interval: 50 }).toBe(429);
  expect(await deliver(other)).toBe(200);
  expect(await Promise.all(held)).toEqual([408, 408, 408, 408]);
  expect(performance.now() - began).toBeLessThan(30_000);
  expect(await deliver(known)).toBe(200);
});

test('a secret is read once for many events', async () => {
  const id = await integration('busy');
  const before = secretReads;
  expect(await Promise.all(Array.from({ length: 20 }, () => deliver(id)))).toEqual(
    Array.from({ length: 20 }, () => 200),
  );
  expect(secretReads - before).toBe(1);
});

test('wrong signatures are answered with 429 after some, at this integration alone', async () => {
  const [id, other] = [await integration('forged'), await integration('unforged')];
  const statuses: number[] = [];
  for (let time = 0; time < 40; time += 1) statuses.push(await deliver(id, 'not it'));
  expect(statuses.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 401));
  expect(statuses.at(-1)).toBe(429);
  expect(await deliver(other)).toBe(200);
});
