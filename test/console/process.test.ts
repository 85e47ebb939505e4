import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import {
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { leaveUnread } from '../../src/http/bodies/unread-body.ts';
import { expectListedMetrics } from '../kit/metric-names.ts';
import { until } from '../kit/until.ts';
import { Browser, openConsole, SCRIPT, type RunningConsole } from './kit.ts';

/*
 * The process in front of a double of the control plane, which counts what reaches it. What needs a real one stands in
 * with-control-plane.test.ts.
 */

const KEY = 'gx_right';
const WHO = {
  subject: 'k1',
  name: 'me',
  role: 'write',
  tenant_id: 't',
  tenants: ['t'],
  expires_at: null,
  features: {},
};

type Answer = (incoming: IncomingMessage, answer: ServerResponse) => void;
let plane: Server;
let running: RunningConsole;
let asked: string[] = [];
let left = 0;
let sendEvent = (): unknown => undefined;
const sockets = new Set<Socket>();

const json = (answer: ServerResponse, status: number, body: unknown, headers = {}): void => {
  answer
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
};

const answers: Record<string, Answer> = {
  '/v2/whoami': (incoming, answer) =>
    incoming.headers['x-api-key'] === KEY
      ? json(answer, 200, WHO)
      : json(answer, 401, { detail: 'The API key is not known.' }),
  '/v2/headers': (incoming, answer) =>
    json(answer, 200, incoming.headers, {
      'set-cookie': 'evil=1',
      'access-control-allow-origin': '*',
    }),
  '/v2/body': (incoming, answer) => {
    const read = async (): Promise<void> =>
      json(answer, 201, { bytes: (await text(incoming)).length });
    void read();
  },
  '/v2/early': (incoming, answer) => {
    leaveUnread(incoming, answer);
    json(answer, 413, { detail: 'Request body is larger than 3 bytes' });
  },
  '/v2/redirect': (_, answer) =>
    answer.writeHead(302, { location: 'https://evil.example.com/' }).end(),
  '/v2/empty': (_, answer) => answer.writeHead(204).end(),
  '/v2/half': (_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.write('{"half":', () => answer.destroy());
  },
  '/v2/broken': (incoming) => void incoming.socket.destroy(),
  '/v2/events': (incoming, answer) => {
    incoming.socket.once('close', () => (left += 1));
    answer.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    answer.flushHeaders();
    sendEvent = () => answer.write('data: 1\n\n');
  },
};

beforeAll(async () => {
  plane = createServer((incoming, answer) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    const found = answers[incoming.url?.split('?')[0] ?? ''];
    if (found === undefined) json(answer, 404, { detail: 'Not Found' });
    else found(incoming, answer);
  }).listen(0, '127.0.0.1');
  plane.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(plane, 'listening');
  running = await openConsole(`http://127.0.0.1:${(plane.address() as AddressInfo).port}`);
});
afterAll(async () => {
  await running.stop();
  plane.closeAllConnections();
  plane.close();
});
beforeEach(() => void (asked = []));

async function signedIn(): Promise<Browser> {
  const browser = new Browser(running.url);
  expect((await browser.signIn(KEY)).status).toBe(200);
  asked = [];
  return browser;
}

describe('a session', () => {
  test('begins with a key that the control plane knows, and says who it is; the cookie does not show the key', async () => {
    const browser = new Browser(running.url);
    expect(await (await browser.ask('session')).json()).toEqual({
      signed_in: false,
      options: { api_key: true },
    });
    expect(asked).toEqual([]);
    const answer = await browser.signIn(KEY);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { signed_in: true, ...WHO, options: { api_key: true } },
    ]);
    expect(browser.lastSet).toMatch(
      /^gx-console-\d+=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
    );
    expect(
      Buffer.from([...browser.cookies.values()][0]!, 'base64url').toString('latin1'),
    ).not.toContain(KEY);
    expect(await (await browser.ask('session')).json()).toMatchObject({
      signed_in: true,
      name: 'me',
    });
  });

  test('over https it has a cookie that no other host can plant', async () => {
    const browser = new Browser(running.url);
    const headers = { origin: 'https://gx.example.com' };
    expect(
      (await browser.ask('session', { method: 'POST', body: { api_key: KEY }, headers })).status,
    ).toBe(200);
    expect(browser.lastSet).toMatch(
      /^__Host-gx-console=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(await (await browser.ask('session')).json()).toMatchObject({ signed_in: true });
  });

  test('over plain http it does not begin, and the key goes nowhere', async () => {
    const browser = new Browser(running.url);
    const headers = { origin: 'http://gx.example.com' };
    const answer = await browser.ask('session', {
      method: 'POST',
      body: { api_key: KEY },
      headers,
    });
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { detail: expect.stringContaining('only over https') },
    ]);
    expect([asked, browser.cookies.size]).toEqual([[], 0]);
  });

  test('ends when the user leaves, and the next request hears it', async () => {
    const browser = await signedIn();
    expect((await browser.ask('session', { method: 'DELETE' })).status).toBe(204);
    expect(browser.cookies.size).toBe(0);
    const answer = await browser.ask('api/v2/headers');
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { detail: 'Nobody is signed in.', reason: 'signed_out' },
    ]);
    expect(asked).toEqual([]);
  });

  test('that this console did not seal has ended', async () => {
    const browser = await signedIn();
    for (const [name, value] of browser.cookies)
      browser.cookies.set(name, `${value.slice(0, -4)}AAAA`);
    expect(await (await browser.ask('session')).json()).toEqual({
      signed_in: false,
      options: { api_key: true },
      reason: 'ended',
    });
    const answer = await browser.ask('api/v2/headers');
    expect([answer.status, await answer.json()]).toMatchObject([401, { reason: 'ended' }]);
    expect(asked).toEqual([]);
  });

  test('does not begin with a wrong key, and after twenty of a client it hears that, while a good key begins one', async () => {
    const own = await openConsole(`http://127.0.0.1:${(plane.address() as AddressInfo).port}`, {
      trustedProxies: ['127.0.0.1'],
    });
    const browser = new Browser(own.url);
    const tried = async (key: string, client: string): Promise<number> => {
      const headers = { 'x-forwarded-for': client };
      return (await browser.ask('session', { method: 'POST', body: { api_key: key }, headers }))
        .status;
    };
    for (let at = 0; at < 20; at += 1) expect(await tried(`gx_wrong-${at}`, '192.0.2.1')).toBe(401);
    expect(asked.length).toBe(20);
    expect(await tried('gx_wrong', '192.0.2.1')).toBe(429);
    // Somebody behind the same address, as behind a proxy that nobody trusts, signs in.
    expect(await tried(KEY, '192.0.2.1')).toBe(200);
    expect(asked.length).toBe(22);
    for (let at = 0; at < 20; at += 1)
      expect(await tried(`gx_wrong-${at}`, `2001:db8:0:1::${at}`)).toBe(401);
    expect([
      await tried('gx_wrong', '2001:db8:0:1:ffff::1'),
      await tried('gx_wrong', '2001:db8:0:2::1'),
    ]).toEqual([429, 401]);
    expect(await tried(KEY, '192.0.2.2')).toBe(200);
    expect(await tried('no key\nhas: this', '192.0.2.2')).toBe(401);
    expect(asked.length).toBe(45);
    const wrong = await browser.ask('session', { method: 'POST', body: { api_kee: 'x' } });
    expect([wrong.status, await wrong.json()]).toEqual([
      422,
      { detail: expect.stringContaining('api_key') },
    ]);
    const metrics = await (await fetch(`http://127.0.0.1:${own.healthPort}/metrics`)).text();
    expect(metrics).toContain('gx_console_sign_ins_total{result="done"} 2');
    expect(metrics).toContain('gx_console_sign_ins_total{result="refused"} 44');
    await own.stop();
  });
});

describe('a request for the control plane', () => {
  test('brings the key of the session, and none of the browser: neither does an answer bring a cookie', async () => {
    const browser = await signedIn();
    const answer = await browser.ask('api/v2/headers?a=b', {
      headers: { 'x-api-key': 'other', authorization: 'Bearer x', 'x-tenant-id': 't' },
    });
    const seen = (await answer.json()) as Record<string, string>;
    expect(asked).toEqual(['GET /v2/headers?a=b']);
    expect(seen).toMatchObject({
      'x-api-key': KEY,
      'x-tenant-id': 't',
      via: '1.1 gx-console',
      'x-forwarded-for': '127.0.0.1',
    });
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['cookie']));
    expect([seen.authorization, seen.cookie]).toEqual([undefined, undefined]);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('of another page is refused and reaches nobody, with any method', async () => {
    const browser = await signedIn();
    const refused = async (path: string, given: Parameters<Browser['ask']>[1]): Promise<number> =>
      (await browser.ask(path, given)).status;
    for (const site of ['cross-site', 'same-site', 'none'])
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
        expect(
          await refused('api/v2/headers', { method, headers: { 'sec-fetch-site': site } }),
        ).toBe(403);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(await refused('api/v2/headers', { method, headers: { 'x-gx-console': '' } })).toBe(
        403,
      );
    expect(
      await refused('session', { method: 'DELETE', headers: { 'sec-fetch-site': 'cross-site' } }),
    ).toBe(403);
    expect(await refused('session', { headers: { 'sec-fetch-site': 'cross-site' } })).toBe(403);
    expect(asked).toEqual([]);
  });

  test('for another path than that of the interface reaches nobody', async () => {
    const browser = await signedIn();
    for (const path of ['api/metrics', 'api/v2/%2e%2e/metrics', 'api/v2/a%2fb', 'api/v2//x'])
      expect((await browser.ask(path)).status).toBe(404);
    expect(asked).toEqual([]);
    expect((await browser.ask('api/v2/unknown')).status).toBe(404);
    expect(asked).toEqual(['GET /v2/unknown']);
  });

  test('with five megabytes is a stream, measured or not', async () => {
    const browser = await signedIn();
    const body = 'x'.repeat(5 * 1024 * 1024);
    const measured = await browser.ask('api/v2/body', { method: 'POST', body });
    expect([measured.status, await measured.json()]).toEqual([201, { bytes: body.length }]);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    for (const method of ['PATCH', 'DELETE']) {
      const headers = {
        cookie,
        'sec-fetch-site': 'same-origin',
        'x-gx-console': '1',
        'transfer-encoding': 'chunked',
      };
      const chunked = request(`${running.url}/console/api/v2/body`, { method, headers });
      for (let at = 0; at < 5; at += 1) chunked.write('y'.repeat(1024 * 1024));
      chunked.end();
      const [answer] = (await once(chunked, 'response')) as [IncomingMessage];
      expect(JSON.parse(await text(answer))).toEqual({ bytes: body.length });
    }
    // Nothing of a body was taken for another request.
    expect(asked).toEqual(['POST /v2/body', 'PATCH /v2/body', 'DELETE /v2/body']);
  });

  test('whose body is refused before it was read gets the refusal', async () => {
    const browser = await signedIn();
    const answer = await browser.ask('api/v2/early', {
      method: 'POST',
      body: 'x'.repeat(20 * 1024 * 1024),
    });
    expect([answer.status, await answer.json()]).toEqual([
      413,
      { detail: 'Request body is larger than 3 bytes' },
    ]);
  });

  test('is sent elsewhere by nobody', async () => {
    const browser = await signedIn();
    const answer = await browser.ask('api/v2/redirect');
    expect([answer.status, answer.headers.get('location')]).toEqual([502, null]);
    expect(await answer.json()).toEqual({
      detail: 'The control plane redirects: https://evil.example.com/',
    });
    expect((await browser.ask('api/v2/empty', { method: 'DELETE' })).status).toBe(204);
  });

  test('for a stream gets its headers at once and its events as they come, and a reader who leaves is gone there too', async () => {
    const browser = await signedIn();
    const reader = new AbortController();
    const answer = await browser.ask('api/v2/events', { signal: reader.signal });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    sendEvent();
    const { value } = await answer.body!.getReader().read();
    expect(Buffer.from(value).toString()).toBe('data: 1\n\n');
    const open = async (): Promise<boolean> => {
      const metrics = await (await fetch(`http://127.0.0.1:${running.healthPort}/metrics`)).text();
      return metrics.includes('gx_console_passed_requests 1');
    };
    expect(await open()).toBe(true);
    const gone = left;
    reader.abort();
    await until('the control plane hears it', () => left === gone + 1);
    await until('the stream is counted no more', async () => !(await open()));
  });

  test('whose answer breaks off does not look complete', async () => {
    const browser = await signedIn();
    const answer = await browser.ask('api/v2/half');
    await expect(answer.text()).rejects.toThrow();
  });

  test('is sent again over a new connection if the old one was closed, but not if it may have changed something', async () => {
    const browser = await signedIn();
    expect((await browser.ask('api/v2/headers')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    expect((await browser.ask('api/v2/headers')).status).toBe(200);
    asked = [];
    const broken = await browser.ask('api/v2/broken', { method: 'POST', body: {} });
    expect([broken.status, await broken.json()]).toEqual([
      503,
      { detail: expect.stringContaining('not known whether the request was done') },
    ]);
    expect(asked).toEqual(['POST /v2/broken']);
  });

  test('gets a sentence while the control plane is away', async () => {
    const away = await openConsole('http://127.0.0.1:9');
    const browser = new Browser(away.url);
    const answer = await browser.signIn(KEY);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { detail: 'The control plane does not answer; try again.' },
    ]);
    await away.stop();
  });
});

describe('the page', () => {
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${running.url}${path}`, { headers, redirect: 'manual' });
  /** Asks without the headers that `fetch` adds, and leaves the answer as it comes. */
  const plainly = (path: string, headers: Record<string, string>): Promise<IncomingMessage> =>
    new Promise((resolve) => {
      request(`${running.url}${path}`, { headers }, resolve).end();
    });
  const html = { accept: 'text/html,*/*' };

  test('is at every deep path for a browser, with the way back to its root, and is asked for again with its ETag', async () => {
    for (const [path, base] of [
      ['/console/', './'],
      ['/console/d/abc/revisions/def?tab=log', '../../../'],
    ] as const) {
      const answer = await get(path, html);
      expect([answer.status, await answer.text()]).toEqual([
        200,
        expect.stringContaining(`<base href="${base}">`),
      ]);
      expect(answer.headers.get('content-security-policy')).toContain(
        "require-trusted-types-for 'script'",
      );
      expect(answer.headers.get('cache-control')).toBe('no-cache');
      const again = await plainly(path, { ...html, 'if-none-match': answer.headers.get('etag')! });
      expect([again.statusCode, await text(again)]).toEqual([304, '']);
    }
  });

  test('is at its own address for a probe, too, which asks for anything or says nothing', async () => {
    for (const headers of [{}, { accept: '*/*' }]) {
      const answer = await plainly('/console/', headers);
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([
        200,
        'text/html; charset=utf-8',
      ]);
      answer.resume();
    }
  });

  test('is not sent in place of data or of a lost file', async () => {
    expect((await get('/console/d/abc', { accept: 'application/json' })).status).toBe(404);
    expect((await get('/console/assets/lost-1.js', html)).status).toBe(404);
    expect((await get('/console/assets/../../package.json', html)).status).toBe(404);
    expect((await get('/console/assets/%2e%2e%2findex.html', html)).status).toBe(404);
    expect(
      (await fetch(`${running.url}/console/x`, { method: 'POST', headers: html })).status,
    ).toBe(404);
  });

  test('has files that are compressed already and never asked for again', async () => {
    const answer = await plainly('/console/assets/entry-ABC123.js', {
      'accept-encoding': 'gzip, br',
    });
    const chunks: Buffer[] = [];
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(brotliDecompressSync(Buffer.concat(chunks)).toString()).toBe(SCRIPT);
    expect(answer.headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    });
    const plain = await get('/console/assets/entry-ABC123.js', { 'accept-encoding': 'identity' });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, SCRIPT]);
  });

  test('is found from an address without its slash', async () => {
    for (const path of ['/', '/console']) {
      const answer = await get(path);
      expect([answer.status, answer.headers.get('location')]).toEqual([302, 'console/']);
    }
  });

  test('that is not built is missed in a sentence that says how to build it', async () => {
    const own = await openConsole(
      'http://127.0.0.1:9',
      {},
      mkdtempSync(join(tmpdir(), 'gx-console-empty-')),
    );
    const answer = await fetch(`${own.url}/console/`, { headers: html });
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { detail: expect.stringContaining('node dev/console/build.ts') },
    ]);
    await own.stop();
  });
});

test('probes answer at both ports, and metrics at the one of the cluster alone', async () => {
  for (const port of [running.port, running.healthPort])
    for (const path of ['healthz', 'readyz'])
      expect((await fetch(`http://127.0.0.1:${port}/${path}`)).status).toBe(200);
  expect((await fetch(`${running.url}/metrics`)).status).toBe(404);
  const metrics = await (await fetch(`http://127.0.0.1:${running.healthPort}/metrics`)).text();
  expect(metrics).toMatch(
    /gx_http_request_duration_seconds_count\{method="GET",route="\/console\/api",status="200"\}/,
  );
  expectListedMetrics('console', metrics);
});

test('a secret that is short or no file is named, and the process does not start', async () => {
  await expect(openConsole('http://127.0.0.1:9', { sessionKeyFile: tmpdir() })).rejects.toThrow(
    /GX_SESSION_KEY_FILE: .*can't be read/,
  );
  const short = join(mkdtempSync(join(tmpdir(), 'gx-console-short-')), 'key');
  writeFileSync(short, 'short');
  await expect(openConsole('http://127.0.0.1:9', { sessionKeyFile: short })).rejects.toThrow(
    /has 5 bytes; a secret needs 32/,
  );
});

test('without a secret the process has one of its own, which no other knows', async () => {
  const url = `http://127.0.0.1:${(plane.address() as AddressInfo).port}`;
  const [one, other] = await Promise.all([
    openConsole(url, { sessionKeyFile: '/nowhere/key' }),
    openConsole(url, { sessionKeyFile: undefined }),
  ]);
  const headers = { origin: 'https://gx.example.com' };
  const browser = new Browser(one.url);
  await browser.ask('session', { method: 'POST', body: { api_key: KEY }, headers });
  expect(await (await browser.ask('session')).json()).toMatchObject({ signed_in: true });
  const elsewhere = new Browser(other.url);
  elsewhere.cookies = browser.cookies;
  expect(await (await elsewhere.ask('session')).json()).toMatchObject({
    signed_in: false,
    reason: 'ended',
  });
  await Promise.all([one.stop(), other.stop()]);
});
