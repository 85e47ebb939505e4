import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../kit/agent-server.ts';
import {
  installUv,
  newBuild,
  repositoryOf,
  unpackedImage,
  type StageEnd,
} from '../kit/build-stages.ts';
import { startPrivateIndex, type IndexFile, type PrivateIndex } from '../kit/private-index.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';
import { until } from '../kit/until.ts';

/* Packages of an index that wants a credential, which only the proxy beside the build has. */

const PASSWORD = `canary-${randomUUID()}`;
const USER = `ci:${PASSWORD}`;

let registry: TestRegistry;
let files: IndexFile[];
/** The folder of all Secrets. */
let secrets: string;

beforeAll(async () => {
  installUv();
  registry = await startRegistry();
  files = packages();
  secrets = mkdtempSync(join(tmpdir(), 'gx-indexes-'));
});
afterAll(async () => {
  rmSync(secrets, { recursive: true });
  await registry.stop();
});

/** Makes a wheel, and a source distribution whose setup.py looks for the credential. */
function packages(): IndexFile[] {
  const folder = mkdtempSync(join(tmpdir(), 'gx-packages-'));
  execFileSync('python3', ['test/builder/fixtures/private_packages.py', folder, PASSWORD]);
  return ['secret_words-1.0-py3-none-any.whl', 'curious-1.0.tar.gz'].map((name) => ({
    name,
    content: readFileSync(join(folder, name)),
  }));
}

async function startIndex(
  options: Parameters<typeof startPrivateIndex>[1] = {},
): Promise<PrivateIndex> {
  const index = await startPrivateIndex(files, { user: USER, ...options });
  onTestFinished(() => index.stop());
  return index;
}

type Proxy = { address: string; log: () => string };

/** Starts the proxy as its container does. Its folder is the Secret. */
async function startProxy(indexes: string | undefined, tenant = 'acme'): Promise<Proxy> {
  const folder = mkdtempSync(join(secrets, 'secret-'));
  if (indexes !== undefined) writeFileSync(join(folder, 'indexes.json'), indexes);
  const port = await freePort();
  const env = {
    PATH: process.env['PATH'],
    GX_INDEX_PORT: String(port),
    GX_INDEX_CREDENTIALS: folder,
    GX_TENANT: tenant,
  };
  const child = spawn(process.execPath, ['src/main.ts', 'builder', 'indexes'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  let output = '';
  child.stdout.on('data', (piece: Buffer) => (output += piece.toString()));
  await until('the proxy listens', () => Promise.resolve(output !== ''));
  return { address: `http://127.0.0.1:${port}`, log: () => output };
}

const secretOf = (index: PrivateIndex, more: object = {}): string =>
  JSON.stringify([
    {
      url: `${index.origin}/pypi/simple`,
      username: 'ci',
      password: PASSWORD,
      insecure: true,
      ...more,
    },
  ]);

const GX_JSON = { graphs: { agent: './graph.py:graph' } };
const PYPI = 'https://pypi.org/simple';

type Asked = {
  sources: Record<string, string>;
  proxy: Proxy;
  env?: Record<string, string>;
  within?: readonly string[];
};

async function built({
  sources,
  proxy,
  env = {},
  within = [],
}: Asked): Promise<StageEnd & { work: string }> {
  const { url } = repositoryOf('python-small', sources);
  const given = { GX_PYTHON_BASE_IMAGE: registry.base, GX_INDEX_PROXY: proxy.address, ...env };
  const build = newBuild({ registry, url, env: given, image: 'python/private' });
  for (const stage of ['clone', 'restore'] as const) expect((await build.run(stage)).code).toBe(0);
  return { ...(await build.run('build', {}, within)), work: build.work };
}

const PROJECT = (more: string): string =>
  `[project]\nname = "a"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["secret-words"]\n${more}`;

/** Ways in which a repository names its index, as people write them. */
const WAYS: Record<string, (index: string) => Record<string, string>> = {
  'pip.conf with a variable for the password': (index) => ({
    'gx.json': JSON.stringify({ ...GX_JSON, pip_config_file: 'pip.conf' }),
    'pip.conf': `[global]\nindex-url = ${PYPI}\nextra-index-url = ${index.replace('://', '://ci:${INDEX_TOKEN}@')}\n`,
    'requirements.txt': 'secret-words\n',
  }),
  'requirements.txt': (index) => ({
    'requirements.txt': `--extra-index-url ${index}\nsecret-words==1.0\n`,
  }),
  'pyproject.toml, for one package': (index) => ({
    'pyproject.toml': PROJECT(
      `[tool.uv]\npackage = false\n[[tool.uv.index]]\nname = "acme"\nurl = "${index}"\nexplicit = true\n[tool.uv.sources]\nsecret-words = { index = "acme" }\n`,
    ),
  }),
};

describe.each(Object.keys(WAYS))('an index that is named in %s', (way) => {
  test('gives its packages through the proxy, and its files stay as they were', async () => {
    const index = await startIndex();
    const proxy = await startProxy(secretOf(index));
    const sources = WAYS[way]!(`${index.origin}/pypi/simple`);
    const end = await built({ sources, proxy });
    expect(end.output + JSON.stringify(end.told)).toContain('secret-words==1.0');
    expect(end.code).toBe(0);
    expect(index.requests.length).toBeGreaterThan(1);
    expect(index.requests.filter((line) => !line.endsWith(` ${USER}`))).toEqual([]);
    for (const [name, text] of Object.entries(sources))
      expect(readFileSync(join(end.work, 'source', name), 'utf8')).toBe(text);
    // Its reader sees the address that the repository names.
    expect(end.output.replaceAll(/^private index.*$/gm, '')).not.toContain(proxy.address);
  });
});

test('uv.lock names files of the index, and the lock holds', async () => {
  const index = await startIndex();
  const proxy = await startProxy(secretOf(index));
  const sources = WAYS['pyproject.toml, for one package']!(`${index.origin}/pypi/simple`);
  const repository = repositoryOf('python-small', sources);
  const env = { ...process.env, UV_INDEX_ACME_USERNAME: 'ci', UV_INDEX_ACME_PASSWORD: PASSWORD };
  // The index answers from this process.
  await promisify(execFile)(installUv(), ['lock'], { cwd: repository.folder, env });
  expect(readFileSync(join(repository.folder, 'uv.lock'), 'utf8')).toContain(
    `${index.origin}/pypi/files/secret_words`,
  );
  repository.commit();
  const given = { GX_PYTHON_BASE_IMAGE: registry.base, GX_INDEX_PROXY: proxy.address };
  const end = await newBuild({
    registry,
    url: repository.url,
    env: given,
    image: 'python/locked-private',
  }).all();
  expect(end.output + JSON.stringify(end.told)).toContain('secret-words==1.0');
  expect(end.told).toMatchObject({ restored: false });
  const root = await unpackedImage(registry, String(end.told['image']));
  const found = (words: string): string =>
    execFileSync('sh', ['-c', `grep -rlF '${words}' ${root}/agent || true`], { encoding: 'utf8' });
  expect([found(PASSWORD), found(proxy.address)]).toEqual(['', '']);
});

test('the index of the installation may be a private one, with pages in JSON', async () => {
  const index = await startIndex({ json: true });
  const proxy = await startProxy(secretOf(index));
  const env = { GX_PYPI_INDEX: `${index.origin}/pypi/simple` };
  const end = await built({ sources: { 'requirements.txt': 'secret-words\n' }, proxy, env });
  expect(end.output).toContain('secret-words==1.0');
  expect(index.requests.filter((line) => !line.endsWith(` ${USER}`))).toEqual([]);
});

test('another host gets no credential when the index sends requests on to it', async () => {
  const other = await startPrivateIndex(files, { path: '/store' });
  onTestFinished(() => other.stop());
  const index = await startIndex({
    answer({ url = '' }, response) {
      if (!url.startsWith('/pypi/files/')) return false;
      response
        .writeHead(302, { location: `${other.origin}/store/files/${url.split('/').at(-1)}` })
        .end();
      return true;
    },
  });
  const proxy = await startProxy(secretOf(index));
  const end = await built({
    sources: WAYS['requirements.txt']!(`${index.origin}/pypi/simple`),
    proxy,
  });
  expect(end.output).toContain('secret-words==1.0');
  expect(other.requests.length).toBeGreaterThan(0);
  expect(other.requests.filter((line) => !line.endsWith(' -'))).toEqual([]);
});

test('a credential that the index refuses ends the build with the lines of uv, and is in none of them', async () => {
  const index = await startIndex({ user: 'ci:another' });
  const proxy = await startProxy(secretOf(index));
  const { told, output } = await built({
    sources: WAYS['requirements.txt']!(`${index.origin}/pypi/simple`),
    proxy,
  });
  expect(told).toEqual({
    reason: 'InstallFailed',
    message: expect.stringContaining('secret-words was not found in the package registry'),
  });
  expect(told['message']).toContain('needs a credential that this build does not have');
  expect(index.requests.some((line) => line.endsWith(` ${USER}`))).toBe(true);
  expect(output + proxy.log()).not.toContain(PASSWORD);
  expect(output).not.toContain(Buffer.from(USER).toString('base64'));
});

test('an index of another tenant stays closed', async () => {
  const index = await startIndex();
  const proxy = await startProxy(secretOf(index, { tenants: ['others'] }));
  const { told } = await built({
    sources: WAYS['requirements.txt']!(`${index.origin}/pypi/simple`),
    proxy,
  });
  expect(told).toMatchObject({ reason: 'InstallFailed' });
  expect(index.requests.filter((line) => line.endsWith(` ${USER}`))).toEqual([]);
});

test.each([
  ['no Secret', undefined, 'The Secret of private indexes is not there, or has no indexes.json.'],
  [
    'no JSON',
    `[{"password": "${PASSWORD}`,
    'The Secret of private indexes has a fault: indexes.json is not a list in JSON.',
  ],
  [
    'plain http that nothing admits',
    JSON.stringify([{ url: 'http://pypi.example.com/simple', password: PASSWORD }]),
    'indexes.json[0].url is no https address without a password ("insecure": true admits http)',
  ],
])('%s ends a build in Python with a sentence', async (_what, indexes, words) => {
  const proxy = await startProxy(indexes);
  const { told } = await built({ sources: { 'requirements.txt': 'idna\n' }, proxy });
  expect(told).toEqual({ reason: 'BuildFailed', message: expect.stringContaining(words) });
  expect(proxy.log()).not.toContain(PASSWORD);
});

test.each([
  ['above the index', '/1/%2e%2e/admin'],
  ['above the index by an encoded slash', '/1/files/..%2f..%2fadmin'],
  ['of an index that there is not', '/2/simple/'],
  ['without an index', '/simple/'],
])('an address %s is refused', async (_what, path) => {
  const index = await startIndex();
  const proxy = await startProxy(secretOf(index));
  // fetch would resolve the dots by itself.
  const { stdout } = spawnSync(
    'curl',
    ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--path-as-is', proxy.address + path],
    {
      encoding: 'utf8',
    },
  );
  expect(stdout).toBe('404');
  expect(index.requests).toEqual([]);
});

test('nothing is written to an index', async () => {
  const index = await startIndex();
  const proxy = await startProxy(secretOf(index));
  expect((await fetch(`${proxy.address}/1/simple/`, { method: 'POST', body: 'x' })).status).toBe(
    404,
  );
  expect(index.requests).toEqual([]);
});

const NAMESPACES = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];

/** Starts a process with processes and files of its own, as a container does: without the folder of the Secret. */
const containerWithout = (folder: string): string[] => [
  ...NAMESPACES,
  'sh',
  '-c',
  `mount -t tmpfs none ${folder} && exec "$@"`,
  'sh',
];
const hasNamespaces = spawnSync(NAMESPACES[0]!, [...NAMESPACES.slice(1), 'true']).status === 0;

test.skipIf(!hasNamespaces)('a command of a build finds the credential nowhere', async () => {
  const index = await startIndex();
  const proxy = await startProxy(secretOf(index));
  const sources = {
    'requirements.txt': `--extra-index-url ${index.origin}/pypi/simple\ncurious\n`,
  };
  const env = {
    GX_BUILD_COMMAND: 'cp $VIRTUAL_ENV/lib/python3.*/site-packages/curious_found.json found.json',
  };
  const end = await built({ sources, proxy, env, within: containerWithout(secrets) });
  expect(end.output).toContain('curious==1.0');
  const found = JSON.parse(readFileSync(join(end.work, 'source/found.json'), 'utf8')) as {
    looked: Record<string, number>;
    found: string[];
  };
  expect(found.looked).toEqual({
    env: expect.any(Number),
    processes: expect.any(Number),
    files: expect.any(Number),
    answers: 3,
  });
  expect(found.looked['processes']).toBeGreaterThan(2);
  expect(found.looked['files']).toBeGreaterThan(20);
  expect(found.found).toEqual(['the word that it was shown']);
});
