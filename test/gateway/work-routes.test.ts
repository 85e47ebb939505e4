import { afterEach, expect, test } from 'vitest';
import { Reports } from '../../src/gateway/reports.ts';
import { workRoutes } from '../../src/gateway/work-routes.ts';
import { listen } from '../../src/http/listen.ts';
import { createApp } from '../../src/http/server.ts';
import { workPath } from '../../src/schema/wire/work-report.ts';
import { silentLog } from '../kit/log.ts';

/* Where agents report their work, as one deployment and as its neighbour. */

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

test('a deployment that reports too often is told to come back, and its neighbour is heard', async () => {
  const reports = new Reports('one');
  const known = { get: (name: string) => ({ isOpenedBy: (key: string) => key === `key of ${name}` }) as never };
  const routes = workRoutes({ known, reports, gatewayKeys: () => [], isReady: () => true, perMinute: 20 });
  const body = { bytes: 4096, selectionBytes: 4096, values: 100, listItems: 10 };
  const app = createApp({ routes, log: silentLog(), invalid: 'sentence', authenticate: () => undefined, body });
  const { port, stop } = await listen(app, { host: '127.0.0.1', port: 0 });
  stops.push(() => stop(0));
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
