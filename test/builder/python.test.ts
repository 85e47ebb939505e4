import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  installUv,
  newBuild,
  repositoryOf,
  unpackedImage,
  type StageEnd,
} from '../kit/build-stages.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';

/* The stages of a project in Python: what is installed and pushed, and what each failure is called. */

let registry: TestRegistry;
let base: { GX_PYTHON_BASE_IMAGE: string };

beforeAll(async () => {
  installUv();
  registry = await startRegistry();
  base = { GX_PYTHON_BASE_IMAGE: registry.base };
});
afterAll(() => registry.stop());

/** Returns the lines of one package in our own lock file. */
const locked = (name: string): string =>
  new RegExp(`^${name}==[^]*?(?=^[a-z]|(?![^]))`, 'm').exec(
    readFileSync('python/image/requirements.txt', 'utf8'),
  )![0];

const gxJson = (more: object = {}): string =>
  JSON.stringify({ graphs: { agent: './graph.py:graph' }, ...more });
const PROJECT = (name: string, more = ''): string =>
  `[project]\nname = "${name}"\nversion = "1"\n${more}`;
const SETUPTOOLS =
  '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n';

const built = (files: Record<string, string>, image: string): Promise<StageEnd> =>
  newBuild({ registry, url: repositoryOf('python-small', files).url, env: base, image }).all();
const layersOf = async (end: StageEnd): Promise<string[]> =>
  (await registry.manifest(String(end.told['image'])))!.manifest.layers.map(({ digest }) => digest);

test('a change of the source installs no package again and sends its own layer alone; the same commit makes the same image', async () => {
  const { url, commit } = repositoryOf('python-small', {
    'requirements.txt': locked('idna'),
    'gx.json': gxJson({ dependencies: ['.', './own'] }),
    'own/pyproject.toml': PROJECT('own', SETUPTOOLS),
    'own/own_package/__init__.py': 'X = 1\n',
  });
  const given = { url, registry, env: base, image: 'python/changed' };
  const first = await newBuild(given).all();
  expect(first.output + JSON.stringify(first.told)).toContain('"restored":false');
  const elsewhere = await newBuild({ ...given, image: 'python/elsewhere' }).all();
  expect(elsewhere.told['digest']).toBe(first.told['digest']);
  commit({ 'graph.py': 'graph = 1\n', 'own/own_package/__init__.py': 'X = 2\n' });
  registry.requests();
  const second = await newBuild(given).all();
  expect(second.output + JSON.stringify(second.told)).toContain('"restored":true');
  expect(second.output).not.toContain('install packages of Python');
  const sent = registry.requests().filter((line) => /^(PUT|PATCH)/.test(line));
  expect(sent.map((line) => /^PUT .*\/(blobs|manifests)\//.exec(line)?.[1])).toEqual([
    'blobs',
    'blobs',
    'manifests',
  ]);
  const [one, other] = [await layersOf(first), await layersOf(second)];
  expect(other.slice(0, 2)).toEqual(one.slice(0, 2));
  expect(other[2]).not.toBe(one[2]);

  const agent = join(await unpackedImage(registry, String(second.told['image'])), 'agent');
  // Nothing of the build's own folders is left, neither in a text nor in byte code.
  expect(
    execFileSync('sh', ['-c', `grep -rl gx-work- ${agent} || true`], { encoding: 'utf8' }),
  ).toBe('');
  const { config } = await registry.config(String(second.told['image']));
  expect(config.Env).toEqual(
    expect.arrayContaining(['GX_PYTHON=/agent/.venv/bin/python', 'VIRTUAL_ENV=/agent/.venv']),
  );
  const python = (script: string): string =>
    execFileSync(join(agent, '.venv/bin/python'), ['-c', script], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin' },
    }).trim();
  // Byte code of the build, which is not compared with the time of its source.
  const flags = (name: string): string =>
    python(`import ${name}; print(open(${name}.__cached__, "rb").read(8)[4:].hex())`);
  expect([flags('idna'), flags('graph'), python('import graph; print(graph.graph)')]).toEqual([
    '01000000',
    '01000000',
    '1',
  ]);
});

test('requirements without hashes are installed, with a line that says so', async () => {
  const end = await built({ 'requirements.txt': 'idna==3.20\n' }, 'python/unlocked');
  expect(end.output).toContain(
    'requirements.txt has no hashes, so each build takes the newest packages that fit',
  );
  expect(end.told).toMatchObject({ restored: false });
});

test('build_command finds packages of the repository, as the graphs do later', async () => {
  const { url } = repositoryOf('python-small', {
    'gx.json': gxJson({ dependencies: ['./own'] }),
    'graph.py': 'from own_package import WORD\ngraph = WORD\n',
    'own/pyproject.toml': PROJECT('own', SETUPTOOLS),
    'own/own_package/__init__.py': 'WORD = "found"\n',
  });
  const env = {
    ...base,
    GX_BUILD_COMMAND: 'python -c "import own_package; print(own_package.WORD)" > word.txt',
  };
  const end = await newBuild({ registry, url, env, image: 'python/command' }).all();
  expect(end.output + JSON.stringify(end.told)).toContain('"image"');
  const agent = join(await unpackedImage(registry, String(end.told['image'])), 'agent');
  expect(readFileSync(join(agent, 'word.txt'), 'utf8')).toBe('found\n');
  expect(
    execFileSync('grep', ['-rl', '/agent/own/own_package', join(agent, '.venv')], {
      encoding: 'utf8',
    }),
  ).toContain('__editable__');
});

test('poetry.lock decides about versions', async () => {
  const files = {
    'pyproject.toml': `[tool.poetry]\nname = "a"\nversion = "1"\ndescription = ""\nauthors = []\npackage-mode = true\npackages = [{ include = "graph.py" }]
[tool.poetry.dependencies]\npython = ">=3.11"\nidna = ">=3"\n[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n`,
    'poetry.lock': `[[package]]\nname = "idna"\nversion = "3.7"\nfiles = []\n[metadata]\nlock-version = "2.1"\n`,
  };
  const end = await built(files, 'python/poetry');
  expect(end.output + JSON.stringify(end.told)).toContain('"image"');
  expect(end.output).toContain('idna==3.7');
});

test.each([
  ['poetry.lock', '[metadata]\nlock-version = "2.1"\n'],
  ['pdm.lock', '[metadata]\nlock_version = "4.5.0"\nstrategy = ["inherit_metadata"]\n'],
])('%s decides about the hashes of packages as well', async (lock, metadata) => {
  const packages = (hash: string): string =>
    `[[package]]\nname = "idna"\nversion = "3.7"\nfiles = [{ file = "idna-3.7-py3-none-any.whl", hash = "sha256:${hash}" }]\n${metadata}`;
  const files = {
    'pyproject.toml': PROJECT(
      'a',
      `dependencies = ["idna>=3"]\n${SETUPTOOLS}[tool.setuptools]\npy-modules = []\n`,
    ),
  };
  const end = await built({ ...files, [lock]: packages(IDNA) }, 'python/locked');
  expect(end.output + JSON.stringify(end.told)).toContain('"image"');
  expect(end.output).toContain('idna==3.7');
  const { told } = await built({ ...files, [lock]: packages('0'.repeat(64)) }, 'python/forged');
  expect(told).toEqual({
    reason: 'InstallFailed',
    message: expect.stringContaining('Hash mismatch for `idna==3.7`'),
  });
});

/** The hash of idna-3.7-py3-none-any.whl. */
const IDNA = '82fee1fc78add43492d3a1898bfa6d8a904cc97d8427f683ed8e798d07761aa0';

describe('a build ends with a reason and the words of the resolver', () => {
  test.each<[string, Record<string, string>, string, string]>([
    [
      'a package that does not exist',
      { 'requirements.txt': 'idna==0.0.0.1\n' },
      'InstallFailed',
      'there is no version of idna==0.0.0.1',
    ],
    [
      'another hash',
      { 'requirements.txt': `idna==3.20 --hash=sha256:${'0'.repeat(64)}\n` },
      'InstallFailed',
      'Hash mismatch for `idna==3.20`',
    ],
    [
      'a newer Python',
      { 'gx.json': gxJson({ python_version: '3.99' }) },
      'BuildFailed',
      '"python_version" of gx.json asks for Python 3.99',
    ],
    [
      'a package that asks for a newer Python',
      { 'pyproject.toml': PROJECT('a', `requires-python = ">=3.99"\n${SETUPTOOLS}`) },
      'InstallFailed',
      'does not satisfy Python>=3.99',
    ],
    [
      'a project with uv.lock that asks for a newer Python, and is no package',
      {
        'pyproject.toml': PROJECT('a', 'requires-python = ">=3.99"\n'),
        'uv.lock':
          'version = 1\nrequires-python = ">=3.99"\n[[package]]\nname = "a"\nversion = "1"\nsource = { virtual = "." }\n',
      },
      'InstallFailed',
      "incompatible with the project's Python requirement: `>=3.99`",
    ],
    [
      'a graph with wrong syntax',
      {
        'graph.py': 'from own.words import answer\n',
        'own/__init__.py': '',
        'own/words.py': 'answer = = 1\n',
      },
      'BuildFailed',
      'own/words.py:1: SyntaxError: invalid syntax',
    ],
    [
      'a graph without a module of the repository',
      {
        'gx.json': gxJson({ dependencies: ['./own'] }),
        'graph.py': 'from own_package.words import answer\n',
        'own/pyproject.toml': PROJECT('own', SETUPTOOLS),
        'own/own_package/__init__.py': '',
      },
      'BuildFailed',
      "No module named 'own_package.words'",
    ],
    [
      'no version',
      { 'gx.json': gxJson({ python_version: 'new' }) },
      'BuildFailed',
      'which is not a version like 3.',
    ],
    [
      'a header that is missing',
      {
        'gx.json': gxJson({ dependencies: ['.', './own'] }),
        'own/pyproject.toml': PROJECT('own', SETUPTOOLS),
        'own/setup.py':
          'from setuptools import Extension, setup\nsetup(ext_modules=[Extension("own", ["own.c"])])\n',
        'own/own.c': '#include <nowhere/at/all.h>\n',
      },
      'InstallFailed',
      'A package needs nowhere/at/all.h of a system library that the builder lacks',
    ],
    [
      'a graph that is not there',
      { 'gx.json': gxJson({ graphs: { agent: './none.py:graph' } }) },
      'BuildFailed',
      'names ./none.py',
    ],
  ])('%s', async (_what, files, reason, words) => {
    const { told } = await built(files, 'python/failed');
    expect(told).toEqual({ reason, message: expect.stringContaining(words) });
  });

  test.each([
    [
      'was yanked',
      'thing-1.0-py3-none-any.whl',
      ' data-yanked="it deletes files"',
      'was yanked (reason: it deletes files)',
    ],
    [
      'is made for another platform alone',
      'thing-1.0-py3-none-win_amd64.whl',
      '',
      'has no wheels with a matching platform tag',
    ],
  ])('a package that %s', async (_, file, yanked, words) => {
    const page = `<!DOCTYPE html><html><body><a href="/${file}"${yanked}>${file}</a></body></html>`;
    const server = createServer(
      (_request, response) => void response.setHeader('content-type', 'text/html').end(page),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const env = {
      ...base,
      GX_PYPI_INDEX: `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`,
    };
    const { url } = repositoryOf('python-small', { 'requirements.txt': 'thing\n' });
    const { told } = await newBuild({ registry, url, env, image: 'python/thing' }).all();
    server.close();
    expect(told).toEqual({ reason: 'InstallFailed', message: expect.stringContaining(words) });
  });

  test('a package for which the disk has no room', async () => {
    const { url } = repositoryOf('python-small', { 'requirements.txt': 'numpy\n' });
    const build = newBuild({ registry, url, env: base, image: 'python/full' });
    for (const stage of ['clone', 'restore'] as const)
      expect((await build.run(stage)).code).toBe(0);
    const cache = join(build.work, 'uv-cache');
    mkdirSync(cache);
    const small = [
      'unshare',
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      `mount -t tmpfs -o size=1m none ${cache} && exec "$@"`,
      'sh',
    ];
    const { told } = await build.run('build', {}, small);
    expect(told).toEqual({
      reason: 'DiskFull',
      message: expect.stringContaining('No space left on device'),
    });
  });

  test('the end of a long output is what its message has', async () => {
    const long =
      'for at in $(seq 1 400); do echo "a long line of an output, number $at"; done; exit 3';
    const { url } = repositoryOf('python-small');
    const build = newBuild({
      registry,
      url,
      env: { ...base, GX_INSTALL_COMMAND: long },
      image: 'python/long',
    });
    for (const stage of ['clone', 'restore'] as const)
      expect((await build.run(stage)).code).toBe(0);
    const { told } = await build.run('build');
    expect(told['message']).toMatch(
      /^install_command ended with code 3\. Its last lines: a long line .*number 400$/s,
    );
    expect(String(told['message']).length).toBeLessThan(1000);
  });

  test.each(['pip.conf', 'the setting'])('an index of %s that asks who calls', async (way) => {
    const server = createServer((_request, response) => void response.writeHead(401).end()).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const GX_PYPI_INDEX = `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`;
    const file = {
      'gx.json': gxJson({ pip_config_file: 'pip.conf' }),
      'pip.conf': `[global]\nindex-url = ${GX_PYPI_INDEX}\n`,
    };
    const { url } = repositoryOf('python-small', {
      'requirements.txt': 'idna\n',
      ...(way === 'pip.conf' && file),
    });
    const env = { ...base, ...(way === 'the setting' && { GX_PYPI_INDEX }) };
    const { told } = await newBuild({ registry, url, env, image: 'python/asked' }).all();
    server.close();
    expect(told).toEqual({
      reason: 'InstallFailed',
      message: expect.stringContaining('needs a credential that this build does not have'),
    });
  });
});
