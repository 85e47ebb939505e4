import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newBuild, repositoryOf, type Repository } from '../kit/build-stages.ts';
import { startGitHost, type GitHost } from '../kit/git-host.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';

/* The first stage: one commit from a git host, with a credential that is nowhere to be found afterwards. */

const PASSWORD = 'canary-of-the-git-host';

let registry: TestRegistry;
let repository: Repository;
let host: GitHost;
let credentials: string;

beforeAll(async () => {
  registry = await startRegistry();
  repository = repositoryOf('plain');
  host = await startGitHost(repository.folder, PASSWORD);
  credentials = mkdtempSync(join(tmpdir(), 'gx-credential-'));
  writeFileSync(join(credentials, 'token'), `${PASSWORD}\n`);
});
afterAll(async () => {
  await host.stop();
  await registry.stop();
});

const byHttp = (env: Record<string, string> = {}) =>
  newBuild({
    registry,
    url: host.url,
    env: {
      GX_GIT_INSECURE: 'true',
      GX_GIT_LOCAL: 'false',
      GX_GIT_CREDENTIALS: credentials,
      ...env,
    },
  });

test('a commit comes with the token of the integration, which is in no file, message or line of the log', async () => {
  const commit = repository.commit();
  const build = byHttp();
  const { code, output, told } = await build.run('clone');
  expect({ code, told }).toEqual({ code: 0, told: { commit } });
  expect(host.shown).toContain(`x-access-token:${PASSWORD}`);
  expect(readdirSync(join(build.work, 'source'))).toEqual(['agents', 'greeting.mjs']);
  expect(readdirSync(build.work).toSorted()).toEqual(
    ['certificates.crt', 'source'].filter((name) => existsSync(join(build.work, name))),
  );
  const encoded = Buffer.from(`x-access-token:${PASSWORD}`).toString('base64');
  for (const secret of [PASSWORD, encoded]) {
    expect(output + JSON.stringify(told)).not.toContain(secret);
    for (const folder of [build.work, build.kept])
      expect(() => execFileSync('grep', ['-r', secret, folder])).toThrow();
  }
});

test('an older commit is fetched by its name, though the branch has moved on', async () => {
  const old = repository.commit({ 'agents/old.txt': 'as it was' });
  repository.commit({ 'agents/old.txt': 'as it is' });
  const build = byHttp({ GX_GIT_COMMIT: old });
  expect((await build.run('clone')).told).toEqual({ commit: old });
  expect(readFileSync(join(build.work, 'source/agents/old.txt'), 'utf8')).toBe('as it was');
});

test.each([
  ['by the head of its branch', () => ({})],
  ['by its name', (commit: string) => ({ GX_GIT_COMMIT: commit })],
])('a commit of a repository with SHA-256 comes %s', async (_how, env) => {
  const other = repositoryOf('plain', {}, 'sha256');
  const commit = other.commit();
  const build = newBuild({ registry, url: other.url, env: env(commit) });
  expect(await build.run('clone')).toMatchObject({ code: 0, told: { commit } });
  expect(commit).toHaveLength(64);
});

test.each<[string, Record<string, string>, string, string]>([
  [
    'a branch that is not there',
    { GX_GIT_REF: 'nowhere' },
    'RefMissing',
    'no such branch, tag or commit',
  ],
  [
    'a commit that is not there',
    { GX_GIT_COMMIT: 'a'.repeat(40) },
    'RefMissing',
    'no such branch, tag or commit',
  ],
  [
    'a reference that is an option',
    { GX_GIT_REF: '--upload-pack=touch' },
    'RefMissing',
    'must not begin with "-"',
  ],
  [
    'a commit that is an option',
    { GX_GIT_COMMIT: '--upload-pack=touch' },
    'RefMissing',
    'not the full name of a commit',
  ],
  ['no credential', { GX_GIT_CREDENTIALS: '/nowhere' }, 'CloneFailed', 'refuses the credential'],
  [
    'more than the limit',
    { GX_SOURCE_LIMIT_MB: '1', GX_GIT_REF: 'large' },
    'CloneFailed',
    'more than 1 MB',
  ],
])('%s ends the build with a reason', async (_situation, env, reason, words) => {
  if (env['GX_GIT_REF'] === 'large') {
    execFileSync('git', ['-C', repository.folder, 'checkout', '--quiet', '-B', 'large']);
    // It packs to next to nothing.
    repository.commit({ 'zeros.txt': '0'.repeat(2_000_000) });
    execFileSync('git', ['-C', repository.folder, 'checkout', '--quiet', 'main']);
  }
  const { code, told, output } = await byHttp(env).run('clone');
  expect({ code, reason: told['reason'] }).toEqual({ code: 1, reason });
  expect(told['message']).toContain(words);
  expect(output).toContain(`${reason}: `);
});

test.each([
  ['a command', 'ext::sh -c "touch /tmp/gx-should-not-be-there"'],
  ['an option', '--upload-pack=touch /tmp/gx-should-not-be-there'],
  ['a folder of the builder', 'file:///etc'],
  ['a path of the builder', '/etc'],
  ['an address with a password', 'https://me:secret@example.com/a.git'],
  ['plain http', 'http://127.0.0.1:1/a.git'],
])('%s is no address', async (_what, url) => {
  const { code, told } = await newBuild({ registry, url, env: { GX_GIT_LOCAL: 'false' } }).run(
    'clone',
  );
  expect({ code, reason: told['reason'] }).toEqual({ code: 1, reason: 'CloneFailed' });
  expect(existsSync('/tmp/gx-should-not-be-there')).toBe(false);
});

test('a host that sends git elsewhere gets no credential there', async () => {
  const other = await startGitHost(repository.folder, 'of another host');
  const moved = await startGitHost(repository.folder, PASSWORD, other.url);
  try {
    const { told } = await newBuild({
      registry,
      url: moved.url,
      env: { GX_GIT_INSECURE: 'true', GX_GIT_LOCAL: 'false', GX_GIT_CREDENTIALS: credentials },
    }).run('clone');
    expect(told['reason']).toBe('CloneFailed');
    expect(other.shown).toEqual([]);
  } finally {
    await Promise.all([other.stop(), moved.stop()]);
  }
});

test('submodules, filters and hooks of a repository run nothing', async () => {
  const touched = join(mkdtempSync(join(tmpdir(), 'gx-touched-')), 'touched');
  const { url, folder } = repositoryOf('plain', {
    '.gitmodules': `[submodule "x"]\n  path = x\n  url = file:///etc\n  update = !touch ${touched}\n`,
    '.gitattributes': '*.mjs filter=evil\n*.bin filter=lfs\n',
    '.git-hooks/post-checkout': `#!/bin/sh\ntouch ${touched}\n`,
  });
  execFileSync('git', ['-C', folder, 'config', 'filter.evil.smudge', `touch ${touched}`]);
  const { code, output } = await newBuild({ registry, url }).run('clone');
  expect(code).toBe(0);
  expect(output).toContain('submodules are not fetched');
  expect(output).toContain('large file storage is not fetched');
  expect(existsSync(touched)).toBe(false);
});

test('a gx.json that is a link out of the repository is not read, because credentials lie there', async () => {
  const { url, folder, commit } = repositoryOf(undefined);
  symlinkSync(join(registry.credentials, 'config.json'), join(folder, 'gx.json'));
  commit();
  const { told, output } = await newBuild({ registry, url }).all();
  expect(told).toEqual({
    reason: 'ConfigMissing',
    message: 'gx.json is a link that points outside the repository.',
  });
  expect(output).not.toContain('auth');
});
