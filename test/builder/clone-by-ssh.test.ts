import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newBuild, repositoryOf, type Repository } from '../kit/build-stages.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';
import { sshKeys, startSshHost, type SshHost } from '../kit/ssh-host.ts';

/* The first stage over ssh: the integration's key opens the repository, and known_hosts says who the host is. */
let registry: TestRegistry;
let repository: Repository;
let host: SshHost;

beforeAll(async () => {
  registry = await startRegistry();
  repository = repositoryOf('plain');
  host = await startSshHost(repository.folder);
});
afterAll(async () => {
  await host.stop();
  await registry.stop();
});

/** Runs the stage with these files of the integration's Secret. */
const cloneWith = (changed: Record<string, string | undefined> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'gx-credential-'));
  const files = { 'ssh-privatekey': host.key, known_hosts: host.knownHosts, ...changed };
  // Ssh takes no key of its own user that others may read.
  for (const [name, text] of Object.entries(files))
    if (text !== undefined) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const build = newBuild({
    registry,
    url: host.url,
    env: { GX_GIT_LOCAL: 'false', GX_GIT_CREDENTIALS: folder },
  });
  return { work: build.work, end: build.run('clone') };
};

test('the head of a branch comes by ssh, with the key of the integration', async () => {
  const commit = repository.commit();
  const { work, end } = cloneWith();
  expect(await end).toMatchObject({ code: 0, told: { commit } });
  expect(readdirSync(join(work, 'source'))).toEqual(['agents', 'greeting.mjs']);
  expect(host.asked).toEqual(["git-upload-pack '/team/chat'"]);
});

test.each<[string, (text: string) => string]>([
  ['without its last newline', (text) => text.trimEnd()],
  ['with line ends of Windows', (text) => text.replaceAll('\n', '\r\n')],
  ['behind a blank line', (text) => `\n${text}`],
])('a key and known_hosts %s open the repository, and stay nowhere', async (_form, paste) => {
  const commit = repository.commit();
  const { work, end } = cloneWith({
    'ssh-privatekey': paste(host.key),
    known_hosts: paste(host.knownHosts),
  });
  const { code, told } = await end;
  expect({ code, told }).toMatchObject({ code: 0, told: { commit } });
  const secret = host.key.split('\n')[2]!;
  expect(() =>
    execFileSync('grep', ['-rlF', secret, work, ...globSync(join(tmpdir(), 'gx-clone-*'))]),
  ).toThrow();
});

test.each<[string, () => Record<string, string | undefined>, string]>([
  [
    'a host with another key than known_hosts says',
    () => ({ known_hosts: `${host.knownHosts.split(' ')[0]} ${sshKeys().public}\n` }),
    'is not the one in known_hosts',
  ],
  [
    'a host that known_hosts does not name',
    () => ({ known_hosts: `elsewhere.example ${sshKeys().public}\n` }),
    'is not the one in known_hosts',
  ],
  ['a Secret without known_hosts', () => ({ known_hosts: undefined }), 'has no known_hosts'],
  ['a key with a passphrase', () => ({ 'ssh-privatekey': sshKeys('x').private }), 'passphrase'],
  [
    'a key that the host does not take',
    () => ({ 'ssh-privatekey': sshKeys().private }),
    'refuses the credential',
  ],
])('%s ends the build, and nothing is asked for', async (_situation, changed, words) => {
  const before = host.asked.length;
  const { code, told } = await cloneWith(changed()).end;
  expect({ code, told }).toMatchObject({
    code: 1,
    told: { reason: 'CloneFailed', message: expect.stringContaining(words) },
  });
  expect(host.asked).toHaveLength(before);
});
