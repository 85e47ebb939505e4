import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { until } from '../kit/until.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

/**
 * Milliseconds after which a load balancer knows of a change of readiness: the probe's period, and the way to every
 * node.
 */
const NEWS = 1000;
const CLIENTS = 8;

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('rolling', { shutdownDelaySeconds: 6, graceSeconds: 10 });
});
afterAll(() => plane.stop());

/** The replicas as a Service sees them: each with the readiness that it had a moment ago. */
function service() {
  const known = new Map<string, boolean>();
  const stopped = new AbortController();
  const follow = async (url: string): Promise<void> => {
    while (!stopped.signal.aborted) {
      const ready = await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      setTimeout(() => known.set(url, ready), NEWS).unref();
      await wait(100);
    }
  };
  const following: Promise<void>[] = [];
  return {
    add: (url: string) => void following.push(follow(url)),
    isReady: (url: string): boolean => known.get(url) === true,
    pick: (): string | undefined => {
      const ready = [...known].filter(([, isReady]) => isReady).map(([url]) => url);
      return ready[Math.floor(Math.random() * ready.length)];
    },
    close: async (): Promise<void> => {
      stopped.abort();
      await Promise.all(following);
    },
  };
}

test('a rolling update loses no request: reads, writes, waits and streams', async () => {
  const { body: deployment } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('steady'),
  });
  const { pick, isReady, add, close } = service();
  const headers = { 'x-api-key': plane.keys.write, 'content-type': 'application/json' };
  const old = await plane.replica();
  add(old.url);
  await until('the old one is known', () => isReady(old.url));

  const streams = await Promise.all(
    Array.from({ length: 3 }, () =>
      fetch(`${old.url}/v2/deployments/${deployment.id}/events`, {
        headers: { 'x-api-key': plane.keys.read },
      }),
    ),
  );
  const texts = streams.map((stream) => stream.text());
  const failures: string[] = [];
  const answers = new Map<string, number>();
  const over = new AbortController();
  let number = 0;
  const client = async (index: number): Promise<void> => {
    while (!over.signal.aborted) {
      const url = pick();
      if (url === undefined) return void failures.push('no replica is ready');
      number += 1;
      const write = { method: 'POST', body: JSON.stringify(creation(`load-${number}`)) };
      const path =
        index === 0
          ? '/v2/deployments'
          : index === 1
            ? `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}?wait=1`
            : '/v2/deployments';
      try {
        const answer = await fetch(`${url}${path}`, { headers, ...(index === 0 && write) });
        await answer.text();
        if (!answer.ok) failures.push(`${path}: ${answer.status}`);
        answers.set(url, (answers.get(url) ?? 0) + 1);
      } catch (error) {
        failures.push(
          `${url === old.url ? 'old' : 'new'} ${path}: ${String((error as Error).cause ?? error)}`,
        );
      }
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
  await wait(500);
  const next = await plane.replica();
  add(next.url);
  await until('the new one is known', () => isReady(next.url));
  await old.stop();
  await wait(300);
  over.abort();
  await Promise.all(clients);
  await close();
  expect(failures).toEqual([]);
  expect([...answers.keys()].toSorted()).toEqual([next.url, old.url].toSorted());
  for (const text of await Promise.all(texts)) expect(text).toMatch(/^event: deployment\r\n/);
  await next.stop();
});
