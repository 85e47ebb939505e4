import { describe, expect, test } from 'vitest';
import { chooseEncoding, parsePageAim, setPageBase } from '../../src/console/files/place.ts';
import { PAGE_HEADERS } from '../../src/http/routes/page-headers.ts';
import {
  filterAgentHeaders,
  buildInwardHeaders,
  buildOutwardHeaders,
  buildAgentHeaders,
} from '../../src/console/headers.ts';
import {
  resolveAgentAddress,
  parseAgentTarget,
  isReading,
  parsePlaneTarget,
} from '../../src/console/passing/target.ts';

describe('the address at the control plane', () => {
  test('is that behind api/, with its query as it came', () => {
    expect(parsePlaneTarget('/console/api/v2/deployments')).toBe('/v2/deployments');
    expect(parsePlaneTarget('/console/api/v2/deployments?q=a%2Fb&x=..//?')).toBe(
      '/v2/deployments?q=a%2Fb&x=..//?',
    );
    expect(parsePlaneTarget('/console/api/v1/deployments/00-11/revisions/a%20b:c@d')).toBe(
      '/v1/deployments/00-11/revisions/a%20b:c@d',
    );
  });

  test.each([
    '/console/api/v2/../../healthz',
    '/console/api/v2/%2e%2e/metrics',
    '/console/api/v2/.%2E/metrics',
    '/console/api/v2//metrics',
    '/console/api//v2/deployments',
    '/console/api/v2/a%2fb',
    '/console/api/v2/a%5Cb',
    '/console/api/v2/a\\b',
    '/console/api/v2/a%00b',
    '/console/api/v2/a%0d%0aX:%20y',
    '/console/api/v2/a%zz',
    '/console/api/v2/./deployments',
    '/console/api/v2/deployments/',
    '/console/api/v3/deployments',
    '/console/api/v22/deployments',
    '/console/api/metrics',
    '/console/api/openapi.json',
    '/console/api/',
    'http://other.example.com/console/api/v2/deployments',
  ])('is none for %s', (url) => {
    expect(parsePlaneTarget(url)).toBeUndefined();
  });
});

describe('the address at an agent', () => {
  const ID = '3F0C4A2E-0000-4000-8000-00000000000a';

  test('is that behind the id of its deployment, with its query as it came', () => {
    const deploymentId = ID.toLowerCase();
    expect(parseAgentTarget(`/console/api/agents/${ID}/threads/a%20b?x=..//?`)).toEqual({
      deploymentId,
      path: '/threads/a%20b?x=..//?',
    });
  });

  test.each([
    '',
    '/',
    '//a',
    '/../x',
    '/%2e%2e/x',
    '/a/./b',
    '/a%2Fb',
    '/a%5cb',
    '/a\\b',
    '/a%0d%0ab',
    '/a%zz',
    '/a/',
  ])('is none for %s', (path) => {
    expect(parseAgentTarget(`/console/api/agents/${ID}${path}`)).toBeUndefined();
  });

  test('is none without an id, or at another place', () => {
    for (const url of [
      '/console/api/agents/chat/info',
      `/console/api/agents/../agents/${ID}/info`,
      `http://evil/console/api/agents/${ID}/info`,
    ])
      expect(parseAgentTarget(url)).toBeUndefined();
  });

  test('has a host of names alone', () => {
    const names = { service: 'chat-agent', namespace: 'team', mount_prefix: '/a/b.c/' };
    expect(resolveAgentAddress(names, 'cluster.local')).toEqual({
      host: 'chat-agent.team.svc.cluster.local',
      prefix: '/a/b.c',
    });
    for (const odd of [
      { service: '' },
      { service: 'a.b' },
      { service: '-a' },
      { namespace: 'a/b' },
      { namespace: 'A' },
      { mount_prefix: '/..' },
    ])
      expect(resolveAgentAddress({ ...names, ...odd }, 'cluster.local')).toBeUndefined();
  });

  const READS = [
    '/threads/search',
    '/threads/count',
    '/threads/a/history',
    '/threads/a/state/checkpoint',
    '/threads/a/stream/events',
    '/assistants/search',
    '/assistants/count',
    '/assistants/a/versions',
    '/runs/crons/search',
    '/runs/crons/count',
    '/store/items/search',
    '/store/namespaces',
  ];

  test('says of reads that they are', () => {
    expect([isReading('GET', '/threads'), isReading('POST', '/threads/a/history?b=c')]).toEqual([
      true,
      true,
    ]);
    // Routes of a user's own may end like those of the server.
    const own = [
      '/orders/search',
      '/threads/a/search',
      '/app/threads/search',
      '/threads/a/b/history',
      '/store/search',
    ];
    expect(own.filter((path) => isReading('POST', path))).toEqual([]);
    expect(READS.filter((path) => !isReading('POST', path))).toEqual([]);
    expect([
      isReading('POST', '/threads'),
      isReading('POST', '/threads?a=/search'),
      isReading('PUT', '/a/search'),
    ]).toEqual([false, false, false]);
  });
});

describe('headers', () => {
  test('of a request to an agent: a pass is its only credential, and it is asked for plain bytes', () => {
    const given = {
      accept: '*/*',
      'accept-encoding': 'br',
      authorization: 'Bearer other',
      cookie: 'a',
      'x-api-key': 'k',
      'x-tenant-id': 't',
    };
    expect(buildAgentHeaders(given, { pass: 'gxp_a', requestId: 'r' })).toEqual({
      accept: '*/*',
      'accept-encoding': 'identity',
      authorization: 'Bearer gxp_a',
      'x-request-id': 'r',
      via: '1.1 gx-console',
    });
  });

  test('of an agent’s answer: only its length and the places of pages go on', () => {
    const given = {
      'content-length': '2',
      'content-type': 'image/svg+xml',
      etag: '"1"',
      'x-pagination-total': '3',
      'set-cookie': ['a=b'],
    };
    expect(filterAgentHeaders(given)).toEqual({
      'content-disposition': 'attachment',
      'content-length': '2',
      'content-type': 'application/octet-stream',
      'x-pagination-total': '3',
    });
  });

  test('of a request: no credential, cookie or word of a proxy goes on, and the key of the session does', () => {
    const given = {
      accept: 'text/event-stream',
      authorization: 'Bearer other',
      connection: 'keep-alive',
      'content-length': '2',
      'content-type': 'application/json',
      cookie: 'gx=1',
      expect: '100-continue',
      forwarded: 'for=1.1.1.1',
      host: 'gx.example.com',
      'idempotency-key': 'a',
      'if-match': '"1"',
      'last-event-id': '7',
      'x-api-key': 'other',
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-host': 'evil',
      'x-gx-console': '1',
      'x-gx-deployment-id': '0',
      'x-gx-forwarded-signature': 's',
      'x-tenant-id': 't',
    };
    expect(
      buildInwardHeaders(given, { key: 'gx_key', source: '10.0.0.9', requestId: 'r' }),
    ).toEqual({
      accept: 'text/event-stream',
      'content-length': '2',
      'content-type': 'application/json',
      'idempotency-key': 'a',
      'if-match': '"1"',
      'last-event-id': '7',
      'x-tenant-id': 't',
      'x-api-key': 'gx_key',
      'x-request-id': 'r',
      'x-forwarded-for': '10.0.0.9',
      via: '1.1 gx-console',
    });
  });

  test('of an answer: only those that describe it go on', () => {
    const given = {
      'access-control-allow-origin': '*',
      'cache-control': 'public',
      'clear-site-data': '"*"',
      connection: 'close',
      'content-length': '2',
      'content-type': 'application/json',
      etag: '"1"',
      link: '<x>; rel=preload',
      location: '/elsewhere',
      refresh: '0; url=https://evil.example.com',
      'retry-after': '5',
      'service-worker-allowed': '/',
      'set-cookie': ['a=b'],
      'strict-transport-security': 'max-age=1',
      'www-authenticate': 'Basic',
    };
    expect(buildOutwardHeaders(given)).toEqual({
      'content-length': '2',
      'content-type': 'application/json',
      etag: '"1"',
      'retry-after': '5',
    });
  });

  test('of the page: nothing unsafe is allowed', () => {
    const rules = PAGE_HEADERS['content-security-policy'];
    expect(rules).toContain("require-trusted-types-for 'script'");
    expect(rules).toContain("default-src 'none'");
    expect(rules).not.toMatch(/unsafe|\*|https?:/);
  });
});

describe('the page', () => {
  test.each([
    ['/console/', './'],
    ['/console/deployments', './'],
    ['/console/d/abc', '../'],
    ['/console/d/abc/revisions/def', '../../../'],
    ['/console/d/abc/', '../../'],
  ])('at %s finds its root at %s', (path, base) => {
    expect(parsePageAim(path)).toEqual({ of: 'page', base });
    const at = new URL(base, `https://gx.example.com/team/gx${path}`);
    expect(at.pathname).toBe('/team/gx/console/');
    expect(setPageBase('<base href="./"><p>', base)).toBe(`<base href="${base}"><p>`);
    expect(setPageBase('<base href="./" />', base)).toBe(`<base href="${base}" />`);
  });

  test('without its slash is sent to the address with one, whatever prefix is before it', () => {
    expect(parsePageAim('/console')).toEqual({ of: 'redirect', to: 'console/' });
    expect(new URL('console/', 'https://gx.example.com/team/console').pathname).toBe(
      '/team/console/',
    );
    expect(parsePageAim('/console/assets/a.js')).toEqual({ of: 'asset', name: 'a.js' });
    expect([parsePageAim('/consoles/'), parsePageAim('/metrics')]).toEqual([undefined, undefined]);
  });

  test('comes in the best encoding that the browser takes', () => {
    const has = ['br', 'gzip'];
    expect(chooseEncoding('gzip, deflate, br', has)).toBe('br');
    expect(chooseEncoding('gzip;q=0.5, br;q=0', has)).toBe('gzip');
    expect(chooseEncoding('*', has)).toBe('br');
    expect([
      chooseEncoding('', has),
      chooseEncoding('identity', has),
      chooseEncoding('br', []),
    ]).toEqual([undefined, undefined, undefined]);
  });
});
