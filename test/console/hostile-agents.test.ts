import type { Socket } from 'node:net';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitAnswer, LARGEST_ANSWER } from '../../src/console/passing/agents.ts';
import { until } from '../kit/until.ts';
import { atAgent, openAgentStage, signedInAt, type AgentStage } from './agent-kit.ts';
import type { Browser } from './kit.ts';
import { PassThrough } from 'node:stream';

/* The answers of an agent are written by somebody's code. None of them does anything in a browser but be read. */

let stage: AgentStage;
let browser: Browser;
beforeAll(async () => {
  stage = await openAgentStage();
  browser = await signedInAt(stage);
});
afterAll(() => stage.stop());

const ask = (path = '/custom', given: Parameters<Browser['ask']>[1] = {}): Promise<Response> =>
  browser.ask(atAgent(path), given);
const answers = (headers: OutgoingHttpHeaders, body: string | Buffer, status = 200): void =>
  stage.answers((_, reply) => void reply.writeHead(status, headers).end(body));

/** Headers of every answer that keep a browser from doing anything with it. */
function expectHarmless({ headers }: Response): void {
  const rules = headers.get('content-security-policy') ?? '';
  expect(rules.split('; ')).toEqual(
    expect.arrayContaining(['sandbox', "default-src 'none'", "frame-ancestors 'none'"]),
  );
  expect(rules).not.toContain('allow-');
  expect(Object.fromEntries(headers)).toMatchObject({
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
}

const SCRIPT = '<script>fetch("/console/api/v2/deployments",{method:"DELETE"})</script>';

describe('what a browser could run comes as bytes to keep', () => {
  test.each([
    ['a page', 'text/html; charset=utf-8', `<!doctype html>${SCRIPT}`],
    ['a page of XML', 'application/xhtml+xml', SCRIPT],
    [
      'a picture with a script',
      'image/svg+xml',
      `<svg xmlns="http://www.w3.org/2000/svg">${SCRIPT}</svg>`,
    ],
    ['a style', 'text/css', '*{background:url(https://evil.example.com)}'],
    ['a script', 'text/javascript', 'alert(1)'],
    ['a document', 'application/pdf', '%PDF-1.7 /JavaScript'],
    ['a type with a line of its own', 'text/html;\tx="', SCRIPT],
    ['a type that begins like one of data', 'application/json+html', SCRIPT],
    ['several types', 'application/json, text/html', SCRIPT],
    ['no type', '', SCRIPT],
    [
      'parts that replace each other',
      'multipart/x-mixed-replace; boundary=a',
      `--a\r\ncontent-type: text/html\r\n\r\n${SCRIPT}`,
    ],
  ])('%s', async (_, type, body) => {
    answers(type === '' ? {} : { 'content-type': type }, body);
    const answer = await ask();
    expectHarmless(answer);
    expect([answer.headers.get('content-type'), answer.headers.get('content-disposition')]).toEqual(
      ['application/octet-stream', 'attachment'],
    );
    expect(await answer.text()).toBe(body);
  });

  test('a page that calls itself data is read as data', async () => {
    for (const type of ['application/json', 'TEXT/PLAIN; charset=utf-7', 'text/event-stream;x=y']) {
      answers({ 'content-type': type, 'content-disposition': 'inline; filename=a.html' }, SCRIPT);
      const answer = await ask();
      expectHarmless(answer);
      expect(answer.headers.get('content-type')).toBe(
        `${type.split(';')[0]!.toLowerCase()}; charset=utf-8`,
      );
      expect(answer.headers.get('content-disposition')).toBeNull();
    }
  });

  test('so do errors', async () => {
    for (const status of [400, 404, 418, 500, 503]) {
      answers({ 'content-type': 'text/html' }, SCRIPT, status);
      const answer = await ask();
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        status,
        'application/octet-stream',
      ]);
      expectHarmless(answer);
    }
  });
});

test('no header of an agent decides about cookies, caches, addresses, other sites or the session', async () => {
  const chosen = {
    'access-control-allow-credentials': 'true',
    'access-control-allow-origin': 'https://evil.example.com',
    'alt-svc': 'h3="evil.example.com:443"',
    'cache-control': 'public, max-age=31536000',
    'clear-site-data': '"*"',
    'content-security-policy': "script-src 'unsafe-inline' *",
    'cross-origin-resource-policy': 'cross-origin',
    link: '<https://evil.example.com/a.js>; rel=preload; as=script',
    nel: '{"report_to":"x"}',
    'origin-agent-cluster': '?0',
    'permissions-policy': 'camera=*',
    refresh: '0; url=https://evil.example.com/',
    'report-to': '{"endpoints":[{"url":"https://evil.example.com"}]}',
    'service-worker-allowed': '/',
    'set-cookie': ['__Host-gx-console=evil; Path=/; Secure', 'gx-console-80=evil'],
    sourcemap: 'https://evil.example.com/a.map',
    'strict-transport-security': 'max-age=1',
    'x-content-type-options': 'sniff',
    'x-dns-prefetch-control': 'on',
    'x-gx-console': '1',
  };
  answers({ 'content-type': 'application/json', ...chosen }, '{}');
  const before = new Map(browser.cookies);
  const answer = await ask();
  expectHarmless(answer);
  const sent = Object.fromEntries(answer.headers);
  expect(JSON.stringify(sent)).not.toContain('evil');
  const kept = [
    'cache-control',
    'content-security-policy',
    'cross-origin-resource-policy',
    'x-content-type-options',
  ];
  expect(Object.keys(chosen).filter((name) => name in sent)).toEqual(kept);
  expect(browser.cookies).toEqual(before);
});

describe('nobody is sent elsewhere', () => {
  test.each([301, 302, 303, 304, 307, 308, 300])('by a %i', async (status) => {
    answers({ location: 'javascript:alert(1)' }, '', status);
    const answer = await ask();
    expect([answer.status, answer.headers.get('location')]).toEqual([502, null]);
    expect(await answer.json()).toEqual({
      detail: 'The agent redirects: javascript:alert(1)',
    });
    expectHarmless(answer);
  });

  test('by a long address, of which a part is enough', async () => {
    answers({ location: `https://evil.example.com/${'a'.repeat(12_000)}` }, '', 302);
    expect((await (await ask()).text()).length).toBeLessThan(9000);
  });
});

describe('an answer that breaks the rules of HTTP', () => {
  const raw = (text: string) => (socket: Socket) => void socket.end(text);
  const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

  test.each([
    ['with a status that means nothing', 'HTTP/1.1 299 x\r\ncontent-length: 0\r\n\r\n'],
    ['with a status beyond all', 'HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n'],
    ['that is no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['with two lengths', `${JSON_HEAD}content-length: 2\r\ncontent-length: 4\r\n\r\n{}{}`],
    [
      'with a length and chunks',
      `${JSON_HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ],
    [
      'with a header beyond all size',
      `${JSON_HEAD}x-a: ${'a'.repeat(200_000)}\r\ncontent-length: 2\r\n\r\n{}`,
    ],
    [
      'with a header that ends in another one',
      `${JSON_HEAD}x-a: b\rset-cookie: evil=1\r\ncontent-length: 2\r\n\r\n{}`,
    ],
    [
      'that changes the protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    ],
    ['that says to go on for ever', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)],
    ['that is cut in its head', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['that is nothing', ''],
  ])('%s is a failure of the agent', async (_, text) => {
    stage.writes(raw(text));
    const answer = await ask('/custom', { method: 'POST', body: {} });
    expect([502, 503]).toContain(answer.status);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expectHarmless(answer);
  });

  test('with less than it announced does not look complete', async () => {
    stage.writes(raw(`${JSON_HEAD}content-length: 1000\r\n\r\n{"a":1}`));
    await expect((await ask()).text()).rejects.toThrow();
    stage.writes(raw(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n`));
    await expect((await ask()).text()).rejects.toThrow();
  });

  test('with more than it announced is cut, and nothing of it answers another request', async () => {
    const second =
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\n\r\n"evil"';
    stage.writes((socket) => void socket.write(`${JSON_HEAD}content-length: 2\r\n\r\n{}${second}`));
    expect(await (await ask()).text()).toBe('{}');
    answers({ 'content-type': 'application/json' }, '"own"');
    for (let at = 0; at < 5; at += 1) expect(await (await ask()).text()).toBe('"own"');
  });
});

describe('an answer without an end', () => {
  const endless = (reply: ServerResponse): void => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const more = (): void => {
      while (!reply.destroyed && reply.write(piece));
      if (!reply.destroyed) reply.once('drain', more);
    };
    more();
  };

  test('that announces a gigabyte does not begin', async () => {
    let isGone = false;
    stage.answers((_, reply) => {
      reply.writeHead(200, { 'content-type': 'application/json', 'content-length': 1024 ** 3 });
      reply.once('close', () => (isGone = true));
      endless(reply);
    });
    const answer = await ask();
    expect([answer.status, await answer.json()]).toEqual([
      502,
      { detail: `The agent's answer has more than ${LARGEST_ANSWER} bytes.` },
    ]);
    await until('the agent is left', () => isGone);
  });

  test('that announces nothing breaks off at its bound, and the console keeps none of it', async () => {
    let isGone = false;
    stage.answers((_, reply) => {
      reply.writeHead(200, { 'content-type': 'application/json' });
      reply.once('close', () => (isGone = true));
      endless(reply);
    });
    const before = process.memoryUsage().rss;
    const answer = await ask();
    let bytes = 0;
    const readAll = async (): Promise<void> => {
      for await (const piece of answer.body!) bytes += piece.length;
    };
    await expect(readAll()).rejects.toThrow();
    expect(bytes).toBeLessThanOrEqual(LARGEST_ANSWER);
    await until('the agent is left', () => isGone);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('that a slow reader takes waits for the reader', async () => {
    let written = 0;
    stage.answers((_, reply) => {
      reply.writeHead(200, { 'content-type': 'text/event-stream' });
      const piece = Buffer.alloc(65_536, 'x');
      const more = (): void => {
        while (!reply.destroyed && reply.write(piece)) written += piece.length;
        if (!reply.destroyed) reply.once('drain', more);
      };
      more();
    });
    const reader = new AbortController();
    const answer = await ask('/threads/a/stream', { signal: reader.signal });
    const stream = answer.body!.getReader();
    await stream.read();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const stands = written;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([written, written < LARGEST_ANSWER]).toEqual([stands, true]);
    reader.abort();
  });

  test('that falls silent breaks off', async () => {
    const source = new PassThrough();
    const passed = limitAnswer(source as never, { bytes: 1000, silence: 100 });
    source.write('a');
    const readAll = async (): Promise<void> => {
      for await (const piece of passed) expect(String(piece)).toBe('a');
    };
    await expect(readAll()).rejects.toThrow('sends nothing any more');
    expect(source.destroyed).toBe(true);
  });
});

test('a small answer that unpacks to a large one goes no further', async () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity']) {
    answers({ 'content-type': 'application/json', 'content-encoding': encoding }, bomb);
    const answer = await ask();
    expect([answer.status, await answer.json()]).toEqual([
      502,
      { detail: 'The agent compresses its answer, which was not requested.' },
    ]);
  }
});

test('words of an agent do not end the session, nor make up another one', async () => {
  answers(
    { 'content-type': 'application/json', 'www-authenticate': 'Basic realm="console"' },
    '{"reason":"revoked"}',
    401,
  );
  const answer = await ask();
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([403, null]);
  expect(await answer.json()).not.toHaveProperty('reason');
  expect(await (await browser.ask('session')).json()).toMatchObject({ signed_in: true });
});
