import { expect, test } from 'vitest';
import { toConfiguredIntegration } from '../../src/schema/platform/source/git-connection.ts';
import { parseRepoAddress, checkRepoUrl } from '../../src/schema/platform/source/repo-url.ts';

const github = {
  kind: 'github',
  name: 'acme',
  host: 'https://github.com',
  repositories: ['acme/*', 'other/agent'],
} as const;
const own = {
  kind: 'generic',
  name: 'own',
  host: 'https://git.example:8443/scm',
  repositories: ['team/**'],
} as const;
const plain = { kind: 'gitea', name: 'local', host: 'http://git.local:3000' } as const;
const of = ({
  repositories,
  ...rest
}: {
  kind: string;
  name: string;
  host: string;
  repositories?: readonly string[];
}) => ({
  ...(rest as { kind: 'github'; name: string; host: string }),
  repositories: repositories && [...repositories],
});

test.each([
  ['https://github.com/acme/agent', github],
  ['https://github.com/acme/agent.git', github],
  ['https://github.com/ACME/Agent/', github],
  ['git@github.com:acme/agent.git', github],
  ['ssh://git@github.com:22/other/agent', github],
  ['https://git.example:8443/scm/team/a/b', own],
  ['ssh://git@git.example:7999/team/a', own],
  ['http://git.local:3000/any/thing', plain],
])('%s is of its integration', (url, integration) => {
  expect(checkRepoUrl(of(integration), url)).toBeUndefined();
});

test.each([
  ['https://github.com/other/secret', github],
  ['https://github.com/acme', github],
  ['https://github.com/acme/agent/more', github],
  ['https://evil.example/acme/agent', github],
  ['https://github.com.evil.example/acme/agent', github],
  ['http://github.com/acme/agent', github],
  ['https://github.com:8443/acme/agent', github],
  ['https://token@github.com/acme/agent', github],
  ['https://user:pass@github.com/acme/agent', github],
  ['https://github.com/acme/../other/secret', github],
  ['https://github.com/acme/%2e%2e/secret', github],
  ['https://github.com/acme//agent', github],
  ['https://github.com/acme/agent?x=1', github],
  ['git@evil.example:acme/agent', github],
  ['file:///etc/passwd', github],
  ['ext::sh -c id', github],
  ['-x', github],
  ['--upload-pack=id', github],
  ['https://git.example:8443/team/a', own],
  ['https://git.example:8443/scm/Team/a', own],
  ['https://git.local:3000/any/thing', plain],
])('%s is not', (url, integration) => {
  expect(checkRepoUrl(of(integration), url)).toMatch(/^is not a repository of the integration /);
});

test.each([
  ['https://github.com/acme/%2e%2e%2fsecret', github, 'encoded separator'],
  ['https://github.com/acme/a%2Fb', github, 'encoded separator'],
  ['https://github.com/acme/a%5Cb', github, 'encoded separator'],
  ['https://github.com/acme/a%00', github, 'encoded separator'],
  ['https://github.com/acme/a%252Fb', github, 'encoded separator'],
])('%s is refused with what to change', (url, integration, words) => {
  expect(checkRepoUrl(of(integration), url)).toContain(words);
});

test('an encoded character means the same however it is spelled', () => {
  const azure = { kind: 'generic', name: 'azure', host: 'https://dev.azure.example/acme' } as const;
  for (const url of ['My%20Project/_git/agent', 'r%C3%A9po/agent', 'r%c3%a9po/agent', 'a%2Db'])
    expect(checkRepoUrl(of(azure), `https://dev.azure.example/acme/${url}`)).toBeUndefined();
  expect(parseRepoAddress('https://h.example/r%c3%a9po/a%2Db')).toEqual(
    parseRepoAddress('https://h.example/r%C3%A9po/a-b'),
  );
});

test('a long pattern of stars is compared at once', () => {
  const stars = Array.from({ length: 300 }, () => '**').join('/');
  const url = `https://git.example/${Array.from({ length: 290 }, () => 'a').join('/')}`;
  const integration = {
    kind: 'generic',
    name: 'x',
    host: 'https://git.example',
    repositories: [stars],
  } as const;
  expect(checkRepoUrl({ ...integration, repositories: [stars] }, url)).toBeDefined();
});

test('an address is read in both forms of ssh', () => {
  const read = { protocol: 'ssh', hostname: 'git.example', path: 'acme/agent' };
  expect(parseRepoAddress('git@git.example:acme/agent.git')).toMatchObject(read);
  expect(parseRepoAddress('ssh://git@git.example:2222/acme/agent')).toMatchObject(read);
});

const entry = { id: '22222222-2222-4222-8222-222222222222', name: 'acme', installation_id: 7 };

test('an entry of the settings with repositories alone is bound to exactly these, one with nothing to github.com', () => {
  const repos = [
    {
      id: 1,
      name: 'agent',
      owner: 'acme',
      url: 'https://git.example/acme/agent',
      default_branch: 'main',
    },
  ];
  const listed = toConfiguredIntegration({ ...entry, repos }, 'tenant');
  expect(checkRepoUrl(listed, 'https://git.example/acme/agent.git')).toBeUndefined();
  expect(checkRepoUrl(listed, 'https://git.example/acme/other')).toBeDefined();
  const bare = toConfiguredIntegration(entry, 'tenant');
  expect(bare).toMatchObject({
    kind: 'github',
    host: 'https://github.com',
    tenantId: 'tenant',
    installationId: 7,
  });
  expect(checkRepoUrl(bare, 'https://git.example/acme/agent')).toBeDefined();
});
