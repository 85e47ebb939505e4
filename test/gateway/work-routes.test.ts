import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Reports } from '../../src/gateway/reports.ts';
import { REPORT_BODIES, buildWorkRoutes } from '../../src/gateway/work-routes.ts';
import { TenantWords } from '../../src/gateway/tenant-words.ts';
import { listen } from '../../src/http/server/listen.ts';
import { createApp } from '../../src/http/server/server.ts';
import { BUCKETS, toFlatCounts, MOST_COUNTED } from '../../src/schema/wire/run-counts.ts';
import { buildWorkPath, type ReportsPage } from '../../src/schema/wire/work-report.ts';
import { buildStandIn } from '../kit/stand-in.ts';
import type { KnownDeployments } from '../../src/gateway/known-deployments.ts';
import { silentLog } from '../kit/log.ts';

/* Where agents report their work, as one deployment and as its neighbour. */

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function listening(routes: ReturnType<typeof buildWorkRoutes>): Promise<number> {
  const app = createApp({
    routes,
    log: silentLog(),
    invalid: 'sentence',
    authenticate: () => undefined,
    body: REPORT_BODIES,
  });
  const { port, stop } = await listen(app, { host: '127.0.0.1', port: 0 });
  stops.push(() => stop(0));
  return port;
}

test('a report with all counts that a process can have is heard whole', async () => {
  const reports = new Reports('one');
  const compared = { candidate: `${'c'.repeat(57)}-00001`, stable: `${'c'.repeat(57)}-00000` };
  const known = buildStandIn<KnownDeployments>({
    get: () => buildStandIn({ isOpenedBy: () => true, compared }),
  });
  const port = await listening(
    buildWorkRoutes({
      known,
      reports,
      gatewayKeys: () => [],
      tenantWords: new TenantWords(),
      isReady: () => true,
    }),
  );
  const full = Array.from({ length: BUCKETS }, (_, bucket): [number, number] => [
    bucket,
    1_000_000_000,
  ]);
  const most = {
    done: 1_000_000_000,
    errors: 1_000_000_000,
    lost: 1_000_000_000,
    used: Number.MAX_SAFE_INTEGER,
  };
  const ended = Array.from({ length: MOST_COUNTED }, (_, at) => ({
    revision: `${'c'.repeat(57)}-0000${at}`,
    ...most,
    durations: full,
    waits: full,
    tokens: full,
    ages: full,
  }));
  const answer = await fetch(`http://127.0.0.1:${port}${buildWorkPath('team', 'chat')}`, {
    method: 'POST',
    headers: { 'x-api-key': 'key', 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'worker', slots: 1000, idle_seconds: 0, ended }),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { gateway_keys: [] }]);
  const { reports: kept } = JSON.parse(reports.formatSince({})) as ReportsPage;
  expect(kept['team/chat']?.[0]?.counts).toEqual(ended.slice(0, 2).map(toFlatCounts));
  expect(reports.bytes).toBeLessThan(25_000);
});

test('a deployment that reports too often is told to come back, and its neighbour is heard', async () => {
  const reports = new Reports('one');
  const known = buildStandIn<KnownDeployments>({
    get: (name) => buildStandIn({ isOpenedBy: (key) => key === `key of ${name}` }),
  });
  const routes = buildWorkRoutes({
    known,
    reports,
    gatewayKeys: () => [],
    tenantWords: new TenantWords(),
    isReady: () => true,
    perMinute: 20,
  });
  const port = await listening(routes);
  const tell = async (name: string, from: string): Promise<[number, string | null]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${buildWorkPath('team', name)}`, {
      method: 'POST',
      headers: { 'x-api-key': `key of team/${name}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from, slots: 1, idle_seconds: 0 }),
    });
    return [answer.status, answer.headers.get('retry-after')];
  };
  for (let index = 0; index < 20; index += 1)
    expect(await tell('flood', `p${index}`)).toEqual([200, null]);
  // A busy machine has used up some of the three seconds.
  expect(await tell('flood', 'one more')).toEqual([429, expect.stringMatching(/^[1-3]$/)]);
  expect(await tell('chat', 'a')).toEqual([200, null]);
  const { reports: kept } = JSON.parse(reports.formatSince({})) as ReportsPage;
  expect([kept['team/flood']?.length, kept['team/chat']?.length]).toEqual([20, 1]);
});

describe('a body', () => {
  const opened = buildStandIn<KnownDeployments>({
    get: (name) => buildStandIn({ isOpenedBy: (key) => key === `key of ${name}` }),
  });
  const head = (path: string, length: number, key?: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${key === undefined ? '' : `x-api-key: ${key}\r\n`}\r\n`;
  const statusOf = async (socket: Socket): Promise<string | undefined> => {
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString().split(' ')[1];
  };
  /** Opens a connection and sends a head alone. */
  const begun = (port: number, text: string): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(text);
    return socket;
  };

  test('of one without a key of the deployment is not waited for', async () => {
    const port = await listening(
      buildWorkRoutes({
        known: opened,
        reports: new Reports('one'),
        gatewayKeys: () => [],
        tenantWords: new TenantWords(),
        isReady: () => true,
      }),
    );
    for (const key of [undefined, 'key of team/other']) {
      const socket = begun(port, head(buildWorkPath('team', 'chat'), 100_000, key));
      expect(await statusOf(socket)).toBe('401');
      socket.destroy();
    }
  });

  test('that one deployment never ends takes no room from others', async () => {
    const port = await listening(
      buildWorkRoutes({
        known: opened,
        reports: new Reports('one'),
        gatewayKeys: () => [],
        tenantWords: new TenantWords(),
        isReady: () => true,
      }),
    );
    const path = buildWorkPath('evil', 'flood');
    const held = Array.from({ length: 40 }, () =>
      begun(port, head(path, 131_072, 'key of evil/flood')),
    );
    const refused = await Promise.race(held.map(statusOf));
    expect(refused).toBe('429');
    const answer = await fetch(`http://127.0.0.1:${port}${buildWorkPath('team', 'chat')}`, {
      method: 'POST',
      headers: { 'x-api-key': 'key of team/chat', 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'a', slots: 1, idle_seconds: 0 }),
    });
    expect(answer.status).toBe(200);
    for (const socket of held) socket.destroy();
  });

  test('with the same revision twice is refused, and nothing of it is kept', async () => {
    const reports = new Reports('one');
    const port = await listening(
      buildWorkRoutes({
        known: opened,
        reports,
        gatewayKeys: () => [],
        tenantWords: new TenantWords(),
        isReady: () => true,
      }),
    );
    const counts = { revision: 'chat-00001', done: 1, errors: 0, lost: 0, durations: [], ages: [] };
    const answer = await fetch(`http://127.0.0.1:${port}${buildWorkPath('team', 'chat')}`, {
      method: 'POST',
      headers: { 'x-api-key': 'key of team/chat', 'content-type': 'application/json' },
      body: JSON.stringify({
        from: 'a',
        slots: 1,
        idle_seconds: 0,
        ended: [counts, { ...counts, done: 2 }],
      }),
    });
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([
      422,
      expect.stringContaining('ended.1.revision'),
    ]);
    expect(reports.size).toBe(0);
  });
});
