import { afterEach, expect, test } from 'vitest';
import { Reports } from '../../src/gateway/reports.ts';
import { REPORT_BODIES, workRoutes } from '../../src/gateway/work-routes.ts';
import { listen } from '../../src/http/listen.ts';
import { createApp } from '../../src/http/server.ts';
import { BUCKETS, MOST_COUNTED } from '../../src/schema/wire/run-counts.ts';
import { workPath } from '../../src/schema/wire/work-report.ts';
import { silentLog } from '../kit/log.ts';

/* Where agents report their work, as one deployment and as its neighbour. */

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function listening(routes: ReturnType<typeof workRoutes>): Promise<number> {
  const app = createApp({ routes, log: silentLog(), invalid: 'sentence', authenticate: () => undefined, body: REPORT_BODIES });
  const { port, stop } = await listen(app, { host: '127.0.0.1', port: 0 });
  stops.push(() => stop(0));
  return port;
}

test('a report with all counts that a process can have is heard whole', async () => {
  const reports = new Reports('one');
  const known = { get: () => ({ isOpenedBy: () => true }) as never };
  const port = await listening(workRoutes({ known, reports, gatewayKeys: () => [], isReady: () => true }));
  const full = Array.from({ length: BUCKETS }, (_, bucket): [number, number] => [bucket, 1_000_000_000]);
  const most = { done: 1_000_000_000, errors: 1_000_000_000, lost: 1_000_000_000, used: Number.MAX_SAFE_INTEGER };
  const ended = Array.from({ length: MOST_COUNTED }, (_, at) => ({
    revision: `${'c'.repeat(57)}-0000${at}`,
    ...most,
    durations: full,
    waits: full,
    tokens: full,
    ages: full,
  }));
  const answer = await fetch(`http://127.0.0.1:${port}${workPath('team', 'chat')}`, {
    method: 'POST',
    headers: { 'x-api-key': 'key', 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'worker', slots: 1000, idle_seconds: 0, ended }),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { gateway_keys: [] }]);
  expect(reports.of('team/chat')[0]?.ended).toEqual(ended);
});

test('a deployment that reports too often is told to come back, and its neighbour is heard', async () => {
  const reports = new Reports('one');
  const known = { get: (name: string) => ({ isOpenedBy: (key: string) => key === `key of ${name}` }) as never };
  const routes = workRoutes({ known, reports, gatewayKeys: () => [], isReady: () => true, perMinute: 20 });
  const port = await listening(routes);
  const tell = async (name: string, from: string): Promise<[number, string | null]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${workPath('team', name)}`, {
      method: 'POST',
      headers: { 'x-api-key': `key of team/${name}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from, slots: 1, idle_seconds: 0 }),
    });
    return [answer.status, answer.headers.get('retry-after')];
  };
  for (let index = 0; index < 20; index += 1) expect(await tell('flood', `p${index}`)).toEqual([200, null]);
  expect(await tell('flood', 'one more')).toEqual([429, '3']);
  expect(await tell('chat', 'a')).toEqual([200, null]);
  expect([reports.of('team/flood').length, reports.of('team/chat').length]).toEqual([20, 1]);
});
