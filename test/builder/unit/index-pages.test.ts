import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { readPageForm, replaceLinks } from '../../../src/builder/indexes/pages.ts';
import {
  toProxyAddress,
  findIndexScope,
  parseIndexScopes,
  toProxiedText,
  toRealText,
} from '../../../src/builder/indexes/private-indexes.ts';

/* Pages of private indexes, and the addresses that get a credential. */

const AT = 'http://127.0.0.1:8471/1';
const secretOf = (...entries: object[]): string =>
  JSON.stringify(entries.map((entry) => ({ password: 'p', ...entry })));
const scopes = parseIndexScopes(
  secretOf({ url: 'https://pypi.example/team/simple/', files: ['https://files.example/team'] }),
  'acme',
).map((scope, at) => ({ ...scope, at: `http://127.0.0.1:8471/${at + 1}` }));
const address = new URL('https://pypi.example/team/simple/thing/');
const linked = (url: URL): string => toProxyAddress(url, scopes);

test.each([
  [
    'beside the page',
    '<a href="../../files/a.whl#sha256=1">a</a>',
    `<a href="${AT}/files/a.whl#sha256=1">a</a>`,
  ],
  ['from the root', "<a href='/team/files/a.whl'>a</a>", `<a href="${AT}/files/a.whl">a</a>`],
  [
    'to a host of files',
    '<a href=https://files.example/team/a.whl>a</a>',
    '<a href="http://127.0.0.1:8471/2/a.whl">a</a>',
  ],
  [
    'to a host of others',
    '<a href="//cdn.example/a.whl">a</a>',
    '<a href="https://cdn.example/a.whl">a</a>',
  ],
  [
    'to another place of the host',
    '<a href="/other/a.whl">a</a>',
    '<a href="https://pypi.example/other/a.whl">a</a>',
  ],
  [
    'with a signature',
    '<a href="a.whl?x=1&amp;y=2">a</a>',
    `<a href="${AT}/simple/thing/a.whl?x=1&amp;y=2">a</a>`,
  ],
  [
    'behind other attributes',
    '<a data-requires-python=">=3.11" href="a.whl">a</a>',
    `<a data-requires-python=">=3.11" href="${AT}/simple/thing/a.whl">a</a>`,
  ],
  [
    'from another base',
    '<base href="/team/files/"><a href="a.whl">a</a>',
    `<base href="/team/files/"><a href="${AT}/files/a.whl">a</a>`,
  ],
])('a link %s', (_what, page, expected) => {
  expect(replaceLinks(page, 'html', { address, linked })).toBe(expected);
});

describe('a page that somebody has made to take long', () => {
  const size = 4 * 1024 * 1024;
  const filled = (piece: string): string => piece.repeat(size / piece.length);

  test.each([
    ['tags that never end', filled('<a ')],
    ['bases that never end', filled('<base ')],
    ['quotes that never end', filled('<a "')],
    ['one tag of spaces', `<a ${filled(' ')}>`],
    ['references without a value', `<a ${filled(' href =')}>`],
    ['bases without a reference', filled('<base>')],
    ['apostrophes', `<a href="${filled("'")}">`],
  ])('%s are read once', (_, page) => {
    const began = process.threadCpuUsage();
    replaceLinks(page, 'html', { address, linked });
    const { user, system } = process.threadCpuUsage(began);
    expect((user + system) / 1000).toBeLessThan(3000);
  });

  test('keeps the links before a tag that never ends', () => {
    expect(replaceLinks('<a href="a.whl">a</a><a "', 'html', { address, linked })).toBe(
      `<a href="${AT}/simple/thing/a.whl">a</a><a "`,
    );
  });
});

test('links of a page in JSON', () => {
  const page = {
    meta: { 'api-version': '1.1' },
    files: [{ filename: 'a', url: '../../files/a.whl', yanked: false }, { filename: 'b' }],
  };
  const made = JSON.parse(
    replaceLinks(JSON.stringify(page), 'json', { address, linked }),
  ) as unknown;
  expect(made).toEqual({
    ...page,
    files: [{ ...page.files[0], url: `${AT}/files/a.whl` }, page.files[1]],
  });
  for (const odd of ['{', '[]', '{"files":1}', 'null'])
    expect(replaceLinks(odd, 'json', { address, linked })).toBe(odd);
});

test.each([
  ['text/html; charset=utf-8', 'html'],
  ['application/vnd.pypi.simple.v1+html', 'html'],
  ['application/vnd.pypi.simple.v1+json', 'json'],
  ['application/octet-stream', undefined],
  ['application/json', undefined],
])('%s is the type of a page or of a file', (type, form) => {
  expect(readPageForm(type)).toBe(form);
});

test.each([
  ['https://pypi.example/team/simple/thing/', true],
  ['https://pypi.example/team/files/a.whl', true],
  ['https://pypi.example/teams/files/a.whl', false],
  ['https://pypi.example/api/tokens', false],
  ['http://pypi.example/team/simple/', false],
  ['https://pypi.example:8443/team/simple/', false],
  ['https://pypi.example.evil.example/team/simple/', false],
  ['https://pypi.example/team/..%2fapi/tokens', false],
  ['https://pypi.example/team/%2e%2e/api/tokens', false],
  ['https://files.example/team/a.whl', true],
])('%s gets the credential: %s', (url, expected) => {
  expect(findIndexScope(scopes, new URL(url)) !== undefined).toBe(expected);
});

describe('a Secret', () => {
  test('gives a tenant its own indexes, and those of all', () => {
    const text = secretOf(
      { url: 'https://a.example/simple', tenants: ['acme'] },
      { url: 'https://b.example/x', username: 'u' },
    );
    expect(parseIndexScopes(text, 'acme').map(({ url }) => url.href)).toEqual([
      'https://a.example/',
      'https://b.example/x/',
    ]);
    expect(
      parseIndexScopes(text, 'other').map(({ url, proof }) => [url.href, atob(proof.slice(6))]),
    ).toEqual([['https://b.example/x/', 'u:p']]);
  });

  test.each([
    [{ url: 'https://u:p@a.example/simple' }, 'indexes.json[0].url is no https address'],
    [
      { url: 'https://a.example/simple', username: 'a:b' },
      'indexes.json[0].username is no text without a colon',
    ],
    [{ url: 'https://a.example/simple', password: 7 }, 'indexes.json[0].password is no text'],
    [
      { url: 'https://a.example/simple', password: 'p', tenant: ['a'] },
      'indexes.json[0] has a field that is none of url, username, password, tenants, files, insecure; did you mean "tenants"?',
    ],
    [
      { url: 'https://a.example/simple', tenants: 'acme' },
      'indexes.json[0].tenants is no list of texts',
    ],
    [
      { url: 'https://a.example/simple', files: ['http://f.example'] },
      'indexes.json[0].files is no list',
    ],
  ])('with a fault is refused by the name of the field: %o', (entry, words) => {
    expect(() => parseIndexScopes(secretOf(entry), 'acme')).toThrow(words);
  });
});

test('a file names the proxy while packages are installed, and the index afterwards', () => {
  const proxied = [{ real: 'https://pypi.example/team', at: AT }];
  const text = [
    'url = "https://ci:${TOKEN}@pypi.example/team/simple"',
    '--extra-index-url https://pypi.example/team/simple/',
    'https://pypi.example/teams/simple https://other.example/team/simple',
  ].join('\n');
  const changed = toProxiedText(text, proxied);
  expect(changed).toBe(
    [
      `url = "${AT}/simple"`,
      `--extra-index-url ${AT}/simple/`,
      'https://pypi.example/teams/simple https://other.example/team/simple',
    ].join('\n'),
  );
  expect(toRealText(changed, proxied)).toBe(text.replace('ci:${TOKEN}@', ''));
  expect(toRealText(`${AT}2/simple`, proxied)).toBe(`${AT}2/simple`);
});
