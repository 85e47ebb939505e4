import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryOf, unpackedImage } from '../kit/build-stages.ts';
import { parseLocalOptions, type LocalOptions } from '../../src/builder/local/options.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';

/* `npm run build-agent`: the same image on a developer's machine. */

let registry: TestRegistry;

beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry.stop());

async function buildAgent(args: string[]): Promise<string> {
  const env = { ...process.env, DOCKER_CONFIG: registry.credentials };
  const command = [
    'src/main.ts',
    'builder',
    'local',
    '--base',
    registry.base,
    '--insecure',
    ...args,
  ];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { env });
  return stdout + stderr;
}

test('a working tree is pushed with what is not committed yet, and without what git ignores', async () => {
  const { folder } = repositoryOf('small', { '.gitignore': '.env\nnode_modules\n' });
  writeFileSync(join(folder, '.env'), 'SECRET=canary-of-a-developer\n');
  appendFileSync(join(folder, 'graph.js'), '// not committed\n');
  const tag = `${registry.host}/mine/agent:1`;
  const output = await buildAgent(['--config', join(folder, 'gx.json'), '--tag', tag, '--push']);
  expect(output).toContain(`pushed ${registry.host}/mine/agent@sha256:`);
  const root = await unpackedImage(registry, tag);
  expect(readFileSync(join(root, 'agent/graph.js'), 'utf8')).toContain('// not committed');
  expect(existsSync(join(root, 'agent/node_modules/ms'))).toBe(true);
  expect([
    existsSync(join(root, 'agent/.env')),
    existsSync(join(root, 'agent/node_modules/mri')),
  ]).toEqual([false, false]);
  const { config } = await registry.config(tag);
  expect(config.Labels['org.opencontainers.image.revision']).toMatch(/^[0-9a-f]{40}-changed$/);
  expect(existsSync(join(folder, 'node_modules'))).toBe(false);
});

test('an OCI image layout of a folder without git holds the base, packages and source', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gx-folder-'));
  cpSync('test/builder/fixtures/small', folder, { recursive: true });
  const layout = join(mkdtempSync(join(tmpdir(), 'gx-layout-')), 'image');
  await buildAgent([
    '--config',
    join(folder, 'gx.json'),
    '--tag',
    `${registry.host}/mine/agent:2`,
    '--output',
    layout,
  ]);
  const json = (file: string): unknown => JSON.parse(readFileSync(join(layout, file), 'utf8'));
  expect(json('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' });
  const index = json('index.json') as { manifests: { digest: string }[] };
  const blob = (digest: string): string => `blobs/sha256/${digest.replace('sha256:', '')}`;
  const manifest = json(blob(index.manifests[0]!.digest)) as {
    config: { digest: string };
    layers: { digest: string }[];
  };
  expect(manifest.layers).toHaveLength(3);
  for (const { digest } of [...manifest.layers, manifest.config])
    expect(existsSync(join(layout, blob(digest)))).toBe(true);
});

test.each([
  [['--tag', 'a:1'], '--config is missing'],
  [['--config', 'gx.json'], '--tag is missing'],
  [['--config', 'gx.json', '--tag', 'a:1', '--engine', 'podman'], '--engine is docker or buildah'],
  [
    ['--config', 'gx.json', '--tag', 'a:1', '--push', '--output', 'x'],
    'one of --engine, --output and --push',
  ],
  [['--config', 'gx.json', '--tag', 'a:1', '--wat'], '--wat'],
])('%j is told what is wrong', async (args, words) => {
  await expect(buildAgent(args)).rejects.toThrow(words);
});

const read = (...args: string[]): LocalOptions =>
  parseLocalOptions(['--config', 'gx.json', '--tag', 'a:1', ...args]);

test.each([
  ['a registry', ['--push']],
  ['a layout of an image', ['--output', 'x']],
])(
  'without --base nothing is taken from a registry by a name that is not ours: for %s',
  (_, args) => {
    expect(() => read(...args)).toThrow('--base is missing');
  },
);

test('an engine has an image of its own', () => {
  expect(read('--engine', 'docker').base.javascript).toBe('gx-agent-server:latest');
});
