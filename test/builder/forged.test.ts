import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  computeDigest,
  hasBlob,
  putManifest,
  readManifest,
} from '../../src/builder/registry/images.ts';
import { parseImageReference, OCI_MANIFEST } from '../../src/builder/registry/reference.ts';
import { installTools, newBuild, repositoryOf } from '../kit/build-stages.ts';
import { REGISTRY_PASSWORD, startRegistry, type TestRegistry } from '../kit/registry.ts';

/* What the push stage asks of the registry, with a credential for all repositories, when a build's commands cheat. */

let registry: TestRegistry;

beforeAll(async () => {
  installTools();
  registry = await startRegistry();
});
afterAll(() => registry.stop());

/**
 * Writes what a build would tell the push stage, of another deployment's packages, and again after the builder has
 * written its own: a pipe in the place of the builder's file holds the builder until somebody reads it.
 */
const FORGER = `
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
const image = process.env.IMAGE_FOLDER;
const told = image + '/image.json';
if (process.argv[2] !== 'later') {
  execFileSync('mkfifo', [told]);
  const args = ['--fork', process.execPath, 'forge.mjs', 'later'];
  spawn('setsid', args, { stdio: 'ignore', env: process.env });
} else {
  while (!existsSync(image + '/source.tar.gz') || statSync(image + '/source.tar.gz').size === 0) await new Promise((done) => setTimeout(done, 50));
  await new Promise((done) => setTimeout(done, 3000));
  const layerOf = (name) => {
    const bytes = readFileSync(image + '/' + name);
    const digest = 'sha256:' + createHash('sha256').update(bytes).digest('hex');
    return { digest, size: bytes.length, diffId: 'sha256:' + '0'.repeat(64) };
  };
  renameSync(told, image + '/pipe');
  copyFileSync(image + '/development.tar.gz', image + '/production.tar.gz');
  writeFileSync(told, JSON.stringify({
    packages: { production: layerOf('production.tar.gz') },
    source: layerOf('source.tar.gz'),
    restored: false,
    key: process.env.FORGED_KEY,
    workdir: '/forged',
    env: { FORGED: 'true' },
  }));
  try { execFileSync('cat', [image + '/pipe'], { stdio: 'ignore', timeout: 10000 }); } catch {}
  writeFileSync(process.env.DONE, 'done');
}
`;

test("packages of another deployment stay as they are, whatever a command writes into the build's folder", async () => {
  const victim = repositoryOf('small');
  registry.requests();
  expect((await newBuild({ registry, url: victim.url, image: 'team-b/victim' }).all()).code).toBe(
    0,
  );
  const [, key] = registry
    .requests()
    .map((line) => /^PUT \/v2\/team-b\/victim\/cache\/manifests\/([0-9a-f]{64})$/.exec(line))
    .find((found) => found !== null)!;
  const packages = `${registry.host}/team-b/victim/cache:${key}`;
  const before = await registry.manifest(packages);

  const { url } = repositoryOf('small', { 'forge.mjs': FORGER });
  const build = newBuild({ registry, url, image: 'team-a/forger' });
  const done = join(mkdtempSync(join(tmpdir(), 'gx-forged-')), 'done');
  const command = [
    `IMAGE_FOLDER=${join(build.work, 'image')}`,
    `FORGED_KEY=../../../../team-b/victim/cache/manifests/${key}`,
    `DONE=${done}`,
    `${process.execPath} forge.mjs`,
  ].join(' ');
  const env = { GX_BUILD_COMMAND: command };
  for (const stage of ['clone', 'restore', 'build'] as const)
    expect((await build.run(stage, env)).code).toBe(0);
  await expect.poll(() => existsSync(done), { timeout: 20_000 }).toBe(true);
  registry.requests();
  const pushed = await build.run('push', env);
  const asked = registry.requests();
  expect(asked.filter((line) => line.includes('team-b'))).toEqual([]);
  expect(await registry.manifest(packages)).toEqual(before);

  // The image starts as its gx.json says, and has the digests of the files that were there.
  expect(pushed.code).toBe(0);
  const image = String(pushed.told['image']);
  expect((await registry.config(image)).config).toMatchObject({ WorkingDir: '/agent' });
  expect((await registry.config(image)).config.Env).not.toContain('FORGED=true');
});

test.each([
  ['a path for a tag', '../../../../team-b/chat/manifests/1'],
  ['an encoded path for a tag', '..%2f..%2fteam-b%2fmanifests%2f1'],
  ['a tag with a query', '1?x=y'],
  ['a short digest', 'sha256:12'],
  ['a digest that goes on', `sha256:${'a'.repeat(64)}/../../../../x`],
])('nothing is asked of the registry about %s', async (_what, version) => {
  const place = parseImageReference(`${registry.host}/team-a/chat`)!;
  const config = {
    mediaType: 'application/json',
    digest: computeDigest(new Uint8Array()),
    size: 0,
  };
  const manifest = { schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers: [] } as const;
  registry.requests();
  await expect(readManifest(registry.ask, { ...place, tag: version })).rejects.toThrow(
    'is no digest or tag',
  );
  await expect(hasBlob(registry.ask, place, version)).rejects.toThrow('is no digest or tag');
  await expect(
    putManifest(registry.ask, place, version, { ...manifest, layers: [] }),
  ).rejects.toThrow('is no digest or tag');
  expect(registry.requests()).toEqual([]);
});

/** Starts a process as the first one of its namespace, as a container does. */
const CONTAINER = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];
const hasNamespaces = spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true']).status === 0;

test.skipIf(!hasNamespaces)(
  'what a command leaves behind in a session of its own ends with it, in a container',
  async () => {
    const { url } = repositoryOf('small');
    const beats = join(mkdtempSync(join(tmpdir(), 'gx-left-')), 'beats');
    writeFileSync(beats, '');
    const left = `setsid --fork sh -c 'while :; do echo beat >> ${beats}; sleep 0.1; done' > /dev/null 2>&1 < /dev/null`;
    // The last command sees whether the first is still there.
    const env = {
      GX_INSTALL_COMMAND: `${left}; sleep 1`,
      GX_BUILD_COMMAND: `cp ${beats} first.txt; sleep 1; cp ${beats} second.txt`,
    };
    const build = newBuild({ registry, url, env, image: 'team-a/left' });
    for (const stage of ['clone', 'restore'] as const)
      expect((await build.run(stage)).code).toBe(0);
    expect((await build.run('build', {}, CONTAINER)).code).toBe(0);
    const [first, second] = ['first.txt', 'second.txt'].map((name) =>
      readFileSync(join(build.work, 'source', name), 'utf8'),
    );
    expect(first).toContain('beat');
    expect(second).toBe(first);
  },
);

test('a forged credential file among the layers is refused', async () => {
  const { url } = repositoryOf('small');
  const env = { GX_INSTALL_COMMAND: 'true', GX_BUILD_COMMAND: 'true' };
  const build = newBuild({ registry, url, env, image: 'team-a/plain' });
  for (const stage of ['clone', 'restore', 'build'] as const)
    expect((await build.run(stage)).code).toBe(0);
  writeFileSync(join(build.work, 'image', 'source.tar.gz'), REGISTRY_PASSWORD);
  const { told } = await build.run('push');
  expect(told).toMatchObject({
    reason: 'PushFailed',
    message: expect.stringContaining('source.tar.gz is not the file'),
  });
});
