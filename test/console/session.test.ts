import { expect, test } from 'vitest';
import { chooseCookie, readCookie, setCookie } from '../../src/console/session/cookie.ts';
import { refuseOtherPages } from '../../src/console/session/own-pages.ts';
import { Seal } from '../../src/console/session/seal.ts';
import { BrowserSessions } from '../../src/console/session/sessions.ts';

const HOUR = 3_600_000;
const seal = (secret = 'x'.repeat(32)) => new Seal(Buffer.from(secret));
const from = (headers: Record<string, string>, forwarded = {}) => ({ headers, forwarded });
const local = { name: 'gx-console-8080', isSecure: false };

test('a sealed text is read by the same secret and for the same purpose alone, and not when a byte of it has changed', () => {
  const sealed = seal().close('gx_key', 'cookie');
  expect(sealed).not.toContain('gx_key');
  expect(seal().open(sealed, 'cookie')).toBe('gx_key');
  expect(seal().close('gx_key', 'cookie')).not.toBe(sealed);
  expect(seal('y'.repeat(32)).open(sealed, 'cookie')).toBeUndefined();
  expect(seal().open(sealed, 'other')).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64url');
  for (const at of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(seal().open(changed.toString('base64url'), 'cookie')).toBeUndefined();
  }
  expect(['', 'a', 'not base64 !'].map((text) => seal().open(text, 'cookie'))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('a page over https gets a cookie of its host alone, one of this machine a plain one, and one over plain http none', () => {
  expect(chooseCookie(from({ origin: 'https://gx.example.com', host: 'console.svc' }))?.name).toBe(
    '__Host-gx-console',
  );
  expect(chooseCookie(from({ host: 'gx.example.com' }, { protocol: 'https' }))?.name).toBe(
    '__Host-gx-console',
  );
  expect(chooseCookie(from({ origin: 'http://localhost:8080', host: 'localhost:8080' }))).toEqual(
    local,
  );
  expect(chooseCookie(from({ origin: 'http://[::1]:8080', host: '[::1]:8080' }))).toEqual(local);
  expect(chooseCookie(from({ host: '127.0.0.1:8080' }))).toEqual(local);
  expect(
    chooseCookie(from({ origin: 'http://gx.example.com', host: 'localhost:8080' })),
  ).toBeUndefined();
  expect(chooseCookie(from({ origin: 'null', host: 'gx.example.com' }))).toBeUndefined();
  expect(chooseCookie(from({ host: 'gx.example.com' }))).toBeUndefined();
});

test('a cookie has every word that keeps it from scripts, other sites and plain http', () => {
  expect(setCookie({ name: '__Host-gx-console', isSecure: true }, 'v', 60)).toBe(
    '__Host-gx-console=v; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure',
  );
  expect(setCookie(local, 'v', 0)).toBe(
    'gx-console-8080=v; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
  );
});

test('a plain cookie counts on this machine alone, because a neighbouring host could plant it elsewhere', () => {
  const cookie = 'a=b; gx-console-8080=sealed=; c';
  expect(readCookie({ cookie, host: 'localhost:8080' })).toEqual({ ...local, value: 'sealed=' });
  expect(readCookie({ cookie, host: 'localhost:8081' })).toBeUndefined();
  expect(readCookie({ cookie, host: 'gx.example.com:8080' })).toBeUndefined();
  expect(readCookie({ cookie: '__Host-gx-console=s', host: 'gx.example.com' })?.value).toBe('s');
  expect(readCookie({ host: 'localhost' })).toBeUndefined();
});

test('a session lasts twelve hours, and as long again once half of them have passed', () => {
  let now = 0;
  const sessions = new BrowserSessions(seal(), () => now);
  const headers = (set: string) => ({ cookie: set.split(';')[0]!, host: '127.0.0.1:8080' });
  const first = headers(sessions.begin(local, 'gx_key'));
  now = 5.9 * HOUR;
  expect(sessions.readSession(first)).toEqual({ key: 'gx_key', renewed: undefined });
  now = 6.1 * HOUR;
  const half = sessions.readSession(first);
  expect(half).toMatchObject({
    key: 'gx_key',
    renewed: expect.stringContaining('gx-console-8080='),
  });
  now = 12 * HOUR;
  expect(sessions.readSession(first)).toBe('ended');
  expect(typeof half === 'object' && sessions.readSession(headers(half.renewed!))).toMatchObject({
    key: 'gx_key',
  });
  expect(sessions.readSession({})).toBe('signed_out');
  expect(new BrowserSessions(seal('z'.repeat(32)), () => 0).readSession(first)).toBe('ended');
});

test('only the own page may use a session, and may change something only with its header', () => {
  const asked = (method: string, headers: Record<string, string>, forwarded = {}) => {
    const host = 'gx.example.com';
    return () => refuseOtherPages(method, from({ host, ...headers }, forwarded));
  };
  const own = { 'sec-fetch-site': 'same-origin' };
  expect(asked('GET', own)).not.toThrow();
  expect(asked('HEAD', { origin: 'https://gx.example.com' })).not.toThrow();
  expect(
    asked('GET', { origin: 'https://shown.example.com' }, { host: 'shown.example.com' }),
  ).not.toThrow();
  for (const site of ['same-site', 'cross-site', 'none', ''])
    expect(asked('GET', { 'sec-fetch-site': site })).toThrow(/Only the page/);
  for (const origin of ['https://evil.example.com', 'null', 'gx.example.com'])
    expect(asked('GET', { origin })).toThrow(/Only the page/);
  expect(asked('GET', {})).toThrow(/Only the page/);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    expect(asked(method, own)).toThrow('needs the header X-Gx-Console: 1');
    expect(asked(method, { ...own, 'x-gx-console': '1' })).not.toThrow();
  }
  expect(
    asked('POST', {
      'sec-fetch-site': 'cross-site',
      origin: 'https://gx.example.com',
      'x-gx-console': '1',
    }),
  ).toThrow(/Only the page/);
});
