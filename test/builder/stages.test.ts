import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installTools, newBuild, repositoryOf, unpackedImage } from '../kit/build-stages.ts';
import { until } from '../kit/until.ts';
import { REGISTRY_PASSWORD, startRegistry, type TestRegistry } from '../kit/registry.ts';

/* The stages after the clone: what is installed, built and pushed, and what each failure is called. */

let registry: TestRegistry;

beforeAll(async () => {
  installTools();
  registry = await startRegistry();
});
afterAll(() => registry.stop());

const gxJson = (more: object = {}): string =>
  JSON.stringify({ graphs: { agent: './graph.js:graph' }, ...more });

test('a change of the source installs nothing again, and sends its own layer alone', async () => {
  const { url, commit } = repositoryOf('small');
  // Packages for development are there for the build, restored ones, too.
  const given = {
    url,
    registry,
    image: 'team/changed',
    env: { GX_BUILD_COMMAND: 'ls node_modules > built.txt' },
  };
  const first = await newBuild(given).all();
  expect(first.told).toMatchObject({ builder: '0.1.0', restored: false });
  expect(first.output).toContain('install | ');
  const changed = commit({
    'graph.js': `${readFileSync('test/builder/fixtures/small/graph.js', 'utf8')}\n// changed`,
  });
  registry.requests();
  const second = await newBuild(given).all();
  expect(second.told).toMatchObject({ commit: changed, restored: true });
  expect(second.output).not.toContain('install | ');
  const sent = registry.requests().filter((line) => /^(PUT|PATCH)/.test(line));
  // The layer of the source and the image's configuration, and then the manifest.
  expect(sent.map((line) => /^PUT .*\/(blobs|manifests)\//.exec(line)?.[1])).toEqual([
    'blobs',
    'blobs',
    'manifests',
  ]);
  const images = [first, second].map(({ told }) => String(told['image']));
  const [one, other] = await Promise.all(
    images.map(async (image) => (await registry.manifest(image))!.manifest.layers),
  );
  expect(other!.slice(0, 2)).toEqual(one!.slice(0, 2));
  expect(other![2]!.digest).not.toBe(one![2]!.digest);
  for (const image of images) {
    const agent = join(await unpackedImage(registry, image), 'agent');
    expect(readFileSync(join(agent, 'built.txt'), 'utf8')).toBe('mri\nms\n');
    expect(
      ['node_modules/ms', 'node_modules/mri', '.gx-build'].map((name) =>
        existsSync(join(agent, name)),
      ),
    ).toEqual([true, false, true]);
  }
});

test('the same commit makes the same image, with its commit in a label, whether packages are installed or restored', async () => {
  const { url, commit } = repositoryOf('small');
  const sha = commit();
  const ends = [
    await newBuild({ registry, url, image: 'team/one' }).all(),
    await newBuild({ registry, url, image: 'team/two' }).all(),
  ];
  expect(ends[0]!.told['digest']).toMatch(/^sha256:[0-9a-f]{64}$/);
  const again = await newBuild({ registry, url, image: 'team/one' }).all();
  expect(again.told).toMatchObject({ restored: true, digest: ends[0]!.told['digest'] });
  expect(ends[1]!.told['digest']).toBe(ends[0]!.told['digest']);
  const { config, created } = await registry.config(String(ends[0]!.told['image']));
  expect(created).toBe('2026-01-02T03:04:05.000Z');
  expect(config).toMatchObject({
    User: '10001:10001',
    WorkingDir: '/agent',
    Env: ['PATH=/usr/bin', 'GX_CONFIG=/agent/gx.json', 'GX_BUILD_FOLDER=/agent/.gx-build'],
  });
  expect(config.Labels).toMatchObject({
    'org.opencontainers.image.revision': sha,
    'dev.gx.builder': '0.1.0',
  });
});

test('other packages are installed anew, and scripts of the own package run with restored ones, too', async () => {
  const manifest = JSON.parse(
    readFileSync('test/builder/fixtures/small/package.json', 'utf8'),
  ) as object;
  const scripts = { postinstall: "node -e \"fs.appendFileSync('generated.txt', 'x')\"" };
  const { url, commit } = repositoryOf('small', {
    'package.json': JSON.stringify({ ...manifest, scripts }),
  });
  const image = 'team/scripts';
  expect((await newBuild({ registry, url, image }).all()).told).toMatchObject({ restored: false });
  commit({ 'more.txt': 'more' });
  const again = await newBuild({ registry, url, image }).all();
  expect(again.told).toMatchObject({ restored: true });
  const root = await unpackedImage(registry, String(again.told['image']));
  expect(readFileSync(join(root, 'agent/generated.txt'), 'utf8')).toBe('x');
  commit({ '.npmrc': 'omit-lockfile-registry-resolved=true\nlegacy-peer-deps=true\n' });
  expect((await newBuild({ registry, url, image }).all()).told).toMatchObject({ restored: false });
});

test("commands of the repository see no credential and no setting of the platform, and neither do the image's layers", async () => {
  const { url } = repositoryOf('small');
  const env = {
    GX_BUILD_COMMAND: 'env | tee seen.txt; cat /proc/$PPID/cmdline >> seen.txt',
    NPM_TOKEN: 'canary-of-npm',
    AWS_SECRET: 'canary-of-a-cloud',
  };
  const build = newBuild({ registry, url, env, image: 'team/canaries' });
  const end = await build.all();
  const root = await unpackedImage(registry, String(end.told['image']));
  const seen = readFileSync(join(root, 'agent/seen.txt'), 'utf8');
  expect(seen).toContain('CI=true');
  expect(seen).not.toMatch(/^GX_/m);
  const encoded = Buffer.from(`builder:${REGISTRY_PASSWORD}`).toString('base64');
  for (const canary of ['canary-of', encoded]) {
    expect(end.output + JSON.stringify(end.told) + seen).not.toContain(canary);
    for (const folder of [join(root, 'agent'), build.work])
      expect(() => execFileSync('grep', ['-r', canary, folder])).toThrow();
  }
});

test('a layer that is a link to the credential is not pushed', async () => {
  const { url } = repositoryOf('small');
  const build = newBuild({ registry, url, image: 'team/links' });
  for (const stage of ['clone', 'restore', 'build'] as const)
    expect((await build.run(stage)).code).toBe(0);
  const image = join(build.work, 'image');
  const moved = mkdtempSync(join(tmpdir(), 'gx-moved-'));
  cpSync(image, moved, { recursive: true });
  rmSync(join(image, 'source.tar.gz'));
  symlinkSync(join(registry.credentials, 'config.json'), join(image, 'source.tar.gz'));
  expect((await build.run('push')).told).toMatchObject({
    reason: 'PushFailed',
    message: expect.stringContaining('source.tar.gz is not the file'),
  });
  rmSync(image, { recursive: true });
  symlinkSync(moved, image);
  expect((await build.run('push')).told).toMatchObject({ reason: 'PushFailed' });
  expect(await registry.manifest(`${registry.host}/team/links:1`)).toBeUndefined();
});

type Case = {
  files?: Record<string, string>;
  env?: Record<string, string>;
  reason: string;
  words: string;
};

const manifestWith = (dependencies: Record<string, string>): string =>
  JSON.stringify({ name: 'broken', type: 'module', dependencies });

const cases: Record<string, Case> = {
  'no gx.json': {
    env: { GX_CONFIG_PATH: 'apps/gx.json' },
    reason: 'ConfigMissing',
    words: 'set gx_config_path',
  },
  'a base image that is not there': {
    env: { GX_BASE_IMAGE: 'HOST/gx/none:1' },
    reason: 'PushFailed',
    words: 'is not in its registry',
  },
  'packages that the lock file lacks': {
    files: { 'package.json': manifestWith({ ms: '2.1.2' }) },
    reason: 'InstallFailed',
    words: 'npm ci',
  },
  'an install_command that fails': {
    env: { GX_INSTALL_COMMAND: 'echo why >&2; exit 3' },
    reason: 'InstallFailed',
    words: 'ended with code 3. Its last lines: why',
  },
  'a build_command that fails': {
    env: { GX_BUILD_COMMAND: 'echo why; exit 4' },
    reason: 'BuildFailed',
    words: 'ended with code 4. Its last lines: why',
  },
  'a graph that nothing makes': {
    files: { 'gx.json': gxJson({ graphs: { agent: './dist/graph.js:graph' } }) },
    reason: 'BuildFailed',
    words: './dist/graph.js',
  },
  'a registry that refuses': {
    env: { GX_REGISTRY_CREDENTIALS: '/nowhere' },
    reason: 'PushFailed',
    words: 'refuses the credential',
  },
  'a registry that is not there': {
    env: { GX_IMAGE: '127.0.0.1:1/a:1' },
    reason: 'PushFailed',
    words: '127.0.0.1:1 does not answer',
  },
};

test.each(Object.entries(cases))(
  '%s ends the build with a reason',
  async (situation, { files = {}, env = {}, reason, words }) => {
    const { url } = repositoryOf('small', files);
    const given = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value.replace('HOST', registry.host)]),
    );
    // Where nothing is to be installed, the case is quicker.
    const quick = /registry|graph that nothing|build_command/.test(situation)
      ? { GX_INSTALL_COMMAND: 'true' }
      : {};
    const { code, told } = await newBuild({
      registry,
      url,
      env: { ...quick, ...given },
      image: 'team/failing',
    }).all();
    expect({ code, reason: told['reason'] }).toEqual({ code: 1, reason });
    expect(told['message']).toContain(words);
  },
);

test('what a command leaves running in the background ends with it', async () => {
  const { url } = repositoryOf('small');
  const file = join(mkdtempSync(join(tmpdir(), 'gx-left-')), 'pid');
  writeFileSync(file, '');
  const env = { GX_INSTALL_COMMAND: 'true', GX_BUILD_COMMAND: `sleep 600 & echo $! > ${file}` };
  expect((await newBuild({ registry, url, env, image: 'team/left' }).all()).code).toBe(0);
  const left = `/proc/${readFileSync(file, 'utf8').trim()}/cmdline`;
  // Of a process that has ended, and that nobody has asked for its code yet, nothing is left to read.
  await until('the process is gone', () => !existsSync(left) || readFileSync(left, 'utf8') === '');
});
