import { expect, test } from 'vitest';
import {
  checkGitRef,
  checkGitUrl,
  findImageFault,
} from '../../src/schema/platform/source/git-source.ts';

test.each([
  'https://example.com/team/agent.git',
  'https://example.com:8443/team/agent',
  'ssh://git@example.com:2222/team/agent.git',
  'git@example.com:team/agent.git',
])('%s can be cloned', (url) => {
  expect(checkGitUrl(url)).toBeUndefined();
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
  ['https://example.com/../a', 'must not contain ".."'],
  ['https://example.com/-x', 'must begin with'],
  ['https://example.com/a b', 'must begin with'],
  ['https://example.com/a\n-x', 'must begin with'],
  ['http://example.com/a', 'plain http'],
  [`https://example.com/${'a'.repeat(2048)}`, 'more than 2048 characters'],
])('%j is refused', (url, words) => {
  expect(checkGitUrl(url)).toContain(words);
});

test('plain http is taken where it is allowed', () => {
  expect(checkGitUrl('http://git.local:3000/team/agent.git', { insecure: true })).toBeUndefined();
});

test.each(['main', 'feature/one', 'v1.2', 'refs/tags/v1', 'a@b'])(
  'the reference %s is taken',
  (ref) => {
    expect(checkGitRef(ref)).toBeUndefined();
  },
);

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
  expect(checkGitRef(ref)).toBeTypeOf('string');
});

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

test.each([
  'agent',
  'agent:1',
  'team/agent',
  'registry.example.com/team/agent:1.0-rc.1_b',
  `localhost:5000/gx/agent@${DIGEST}`,
  `registry.example.com:5000/a__b/c--d/e.f:latest@${DIGEST}`,
  '[2001:db8::1]:5000/agent',
  'Registry.Example.com/agent',
  '123456789012.dkr.ecr.eu-west-1.amazonaws.com/agents:V1',
])('the image %s is taken', (image) => {
  expect(findImageFault(image)).toBeUndefined();
});

test.each([
  ['My Image', 'in lowercase'],
  ['https://registry.example.com/agent:1', 'must not have a protocol'],
  ['docker://agent', 'must not have a protocol'],
  ['registry.example.com/Team/agent', 'in lowercase'],
  ['agent:', 'in lowercase'],
  ['agent:a b', 'in lowercase'],
  ['agent@sha256:12', 'in lowercase'],
  ['registry.example.com//agent', 'in lowercase'],
  ['-agent', 'in lowercase'],
  ['agent:1\n', 'in lowercase'],
  ['registry.example.com:port/agent', 'in lowercase'],
])('the image %j is refused', (image, words) => {
  expect(findImageFault(image)).toContain(words);
});
