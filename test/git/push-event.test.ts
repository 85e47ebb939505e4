import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isSignedBy, readPayload, parsePush } from '../../src/git/push-event.ts';
import { GIT_KINDS } from '../../src/schema/platform/source/git-integration.ts';
import { AFTER, deleted, HEADERS, PAYLOADS } from './payloads.ts';

const SECRET = "It's a Secret to Everybody";

const IDS = { github: '186853002', gitlab: '15', gitea: '140' };

describe.each(GIT_KINDS)('a push event of %s', (kind) => {
  const payload = PAYLOADS[kind];
  const read = (more = {}, headers: Record<string, string> = HEADERS[kind]) =>
    parsePush(kind, headers, payload(more));

  test('says the branch, its commit and the repository', () => {
    expect(read()).toMatchObject({ branch: 'main', commit: AFTER, repository: 'acme/agent' });
    expect(read()).toMatchObject(kind === 'generic' ? {} : { repositoryId: IDS[kind] });
    expect(read({ ref: 'refs/heads/feature/a' })).toMatchObject({ branch: 'feature/a' });
  });

  test.each([
    ['a tag', { ref: 'refs/tags/v1' }],
    ['a deletion', deleted],
    ['no ref', { ref: 7 }],
    ['a commit that is none', { after: '--upload-pack=x' }],
    ['no repository', { repository: null, project: null }],
  ])('means nothing as %s, and says why', (_, more) => {
    expect(read(more)).toEqual({ ignored: expect.stringMatching(/\.$/) });
  });

  test('means nothing in another form', () => {
    for (const odd of [undefined, null, [], 'push', 7, { ref: {} }])
      expect(parsePush(kind, HEADERS[kind], odd)).toHaveProperty('ignored');
  });
});

test.each([
  ['github', 'x-github-event', 'ping'],
  ['gitlab', 'x-gitlab-event', 'Tag Push Hook'],
  ['gitea', 'x-gitea-event', 'delete'],
] as const)('another event of %s means nothing: %s: %s', (kind, header, event) => {
  expect(parsePush(kind, { [header]: event }, PAYLOADS[kind]())).toEqual({
    ignored: `It is not a push to a branch: ${event}.`,
  });
});

test('an event is read as JSON and in the default form of GitHub, whatever the letters of its type', () => {
  const json = JSON.stringify({ ref: 'refs/heads/a+b', message: 'é & %' });
  const form = Buffer.from(new URLSearchParams({ payload: json }).toString());
  const type = (value: string) => ({ 'content-type': value });
  expect(readPayload({ headers: type('application/x-www-form-urlencoded'), body: form })).toBe(
    json,
  );
  expect(
    readPayload({ headers: type('Application/X-WWW-Form-Urlencoded; charset=utf-8'), body: form }),
  ).toBe(json);
  expect(readPayload({ headers: type('application/json'), body: Buffer.from(json) })).toBe(json);
  expect(
    readPayload({ headers: type('application/x-www-form-urlencoded'), body: Buffer.from('a=b') }),
  ).toBe('');
});

test('a form is signed as a whole by GitHub, and by its JSON by Gitea', () => {
  const body = Buffer.from(new URLSearchParams({ payload: '{"ref":"x"}' }).toString());
  const hmac = (of: string | Uint8Array): string =>
    createHmac('sha256', SECRET).update(of).digest('hex');
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  expect(
    isSignedBy(SECRET, 'github', {
      headers: { ...form, 'x-hub-signature-256': `sha256=${hmac(body)}` },
      body,
    }),
  ).toBe(true);
  expect(
    isSignedBy(SECRET, 'gitea', {
      headers: { ...form, 'x-gitea-signature': hmac('{"ref":"x"}') },
      body,
    }),
  ).toBe(true);
  expect(
    isSignedBy(SECRET, 'gitea', { headers: { ...form, 'x-gitea-signature': hmac(body) }, body }),
  ).toBe(false);
});

describe('a signature', () => {
  const body = Buffer.from('Hello, World!');
  const hmac = createHmac('sha256', SECRET).update(body).digest('hex');

  test('is that of the documentation of GitHub', () => {
    const headers = {
      'x-hub-signature-256':
        'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    };
    expect(isSignedBy(SECRET, 'github', { headers, body })).toBe(true);
  });

  test.each([
    ['github', 'x-hub-signature-256', `sha256=${hmac}`],
    ['gitea', 'x-gitea-signature', hmac],
    ['gitlab', 'x-gitlab-token', SECRET],
    ['generic', 'x-gx-signature-256', `sha256=${hmac}`],
  ] as const)(
    'of %s counts in its own header, for its own body and secret',
    (kind, header, value) => {
      const signed = (
        headers: Record<string, string | string[]>,
        secret = SECRET,
        of: Uint8Array = body,
      ) => isSignedBy(secret, kind, { headers, body: of });
      expect(signed({ [header]: value })).toBe(true);
      expect(signed({ [header]: value }, 'another secret')).toBe(false);
      // GitLab sends its secret as it is, which says nothing of the body.
      expect(signed({ [header]: value }, SECRET, Buffer.from('Hello, World?'))).toBe(
        kind === 'gitlab',
      );
      for (const wrong of ['', value.slice(1), `${value}0`, value.toUpperCase()])
        expect(signed({ [header]: wrong })).toBe(false);
      expect(signed({ 'x-other': value })).toBe(false);
      expect(signed({})).toBe(false);
    },
  );
});
