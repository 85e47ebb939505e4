import { expect, test } from 'vitest';
import { gitRefFault, gitUrlFault } from '../../src/schema/platform/git-source.ts';

test.each([
  'https://example.com/team/agent.git',
  'https://example.com:8443/team/agent',
  'ssh://git@example.com:2222/team/agent.git',
  'git@example.com:team/agent.git',
])('%s can be cloned', (url) => {
  expect(gitUrlFault(url)).toBeUndefined();
});

test.each([
  ['-oProxyCommand=x', 'must begin with'],
  ['ssh://-oProxyCommand=x/team/agent', 'must begin with'],
  ['git@-oProxyCommand=x:team/agent', 'must begin with'],
  ['ext::sh -c x', 'must begin with'],
  ['file:///etc', 'must begin with'],
  ['/etc', 'must begin with'],
  ['https://me@example.com/a', 'names a user or a token'],
  ['https://me:secret@example.com/a', 'names a user or a token'],
  ['https://example.com/../a', 'goes up'],
  ['https://example.com/-x', 'must begin with'],
  ['https://example.com/a b', 'must begin with'],
  ['https://example.com/a\n-x', 'must begin with'],
  ['http://example.com/a', 'plain http'],
  [`https://example.com/${'a'.repeat(2048)}`, 'more than 2048 characters'],
])('%j is refused', (url, words) => {
  expect(gitUrlFault(url)).toContain(words);
});

test('plain http is taken where it is allowed', () => {
  expect(gitUrlFault('http://git.local:3000/team/agent.git', { insecure: true })).toBeUndefined();
});

test.each(['main', 'feature/one', 'v1.2', 'refs/tags/v1', 'a@b'])('the reference %s is taken', (ref) => {
  expect(gitRefFault(ref)).toBeUndefined();
});

test.each([
  '',
  '-x',
  '--upload-pack=x',
  'refs/heads/main',
  'a..b',
  'a b',
  'a~1',
  'a^',
  'a:b',
  '@',
  'a@{1}',
  'a/',
  '/a',
  '.a',
  'a.lock',
  'a.lock/b',
  'refs/pull/1/head',
  'refs/tag/v1',
  'refs/tags',
  'refs/tags/',
  'refs/t',
  'a\nb',
  'a.',
])('the reference %j is refused', (ref) => {
  expect(gitRefFault(ref)).toBeTypeOf('string');
});
