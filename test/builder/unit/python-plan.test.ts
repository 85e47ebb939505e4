import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { applyBaseImage } from '../../../src/builder/packages/base.ts';
import { parseUvOptions } from '../../../src/builder/packages/pip-file.ts';
import { buildPlanOf, type BuildPlan } from '../../../src/builder/packages/plan.ts';
import { addFolders, patchEditableLinks } from '../../../src/builder/packages/python-venv.ts';
import { parseLockIndexes, parseUvExport } from '../../../src/builder/packages/uv-export.ts';
import { readImageBuildConfig } from '../../../src/config/jobs/image-build.ts';

/* What is decided from the files of a project in Python, before anything of it runs. */

type Files = Record<string, string>;

function written(root: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

const gxJson = (more: object = {}): string =>
  JSON.stringify({ graphs: { agent: './graph.py:graph' }, ...more });

function planned(files: Files, configPath = 'gx.json'): BuildPlan {
  const work = mkdtempSync(join(tmpdir(), 'gx-plan-'));
  written(join(work, 'source'), files);
  const base = {
    GX_BASE_IMAGE: 'registry.example.com/gx/gx-agent-server-python:1',
    GX_WORK_FOLDER: work,
    GX_CONFIG_PATH: configPath,
  };
  return buildPlanOf(readImageBuildConfig(base), 'sha256:base').plan;
}

const PROJECT = '[project]\nname = "a"\nversion = "1"\n';
/** The lock of a workspace with a member in this folder. */
const lockOf = (folder: string): string =>
  `version = 1\n[[package]]\nname = "a"\nversion = "1"\nsource = { editable = "${folder}" }\n`;
const HASHED =
  'idna==3.20 \\\n    --hash=sha256:aa\n# why\nanyio==4.16.0 --hash=sha256:bb  # also\n';

test.each<[string, Files, object]>([
  [
    'a folder with nothing to install',
    { 'gx.json': gxJson() },
    { folders: [{ folder: '', isPackage: false }], locked: true },
  ],
  [
    'a package with uv.lock',
    { 'gx.json': gxJson(), 'pyproject.toml': PROJECT, 'uv.lock': '' },
    { folders: [{ folder: '', isPackage: true, uvLock: '' }], locked: true },
  ],
  [
    'a member of a workspace of uv',
    {
      'gx.json': gxJson({ dependencies: ['./apps/one'] }),
      'uv.lock': lockOf('apps/one'),
      'pyproject.toml': PROJECT,
      'apps/one/pyproject.toml': PROJECT,
    },
    { folders: [{ folder: 'apps/one', isPackage: true, uvLock: '' }], locked: true },
  ],
  [
    'a project below one whose uv.lock is not about it',
    {
      'gx.json': gxJson({ dependencies: ['./examples/one'] }),
      'uv.lock': lockOf('.'),
      'pyproject.toml': PROJECT,
      'examples/one/pyproject.toml': `${PROJECT}dependencies = ["idna"]\n`,
    },
    {
      folders: [
        { folder: 'examples/one', isPackage: true, requirements: 'examples/one/pyproject.toml' },
      ],
      locked: false,
    },
  ],
  [
    'a workspace of uv that gx.json names by "source"',
    {
      'apps/gx.json': gxJson({ source: { kind: 'uv', root: '..', package: 'a' } }),
      'uv.lock': '',
      'pyproject.toml': PROJECT,
    },
    {
      folders: [{ folder: '', isPackage: true, uvLock: '', member: 'a' }],
      named: [],
      locked: true,
    },
  ],
  [
    'a workspace of uv in one of whose members gx.json lies',
    {
      'apps/one/deploy/gx.json': gxJson({ source: { kind: 'uv', root: '../../..' } }),
      'uv.lock': '',
      'pyproject.toml': PROJECT,
      'apps/one/pyproject.toml': PROJECT,
    },
    { folders: [{ folder: 'apps/one', isPackage: true, uvLock: '' }], locked: true },
  ],
  [
    'a workspace of uv below the root, beside whose members gx.json lies',
    {
      'py/deploy/gx.json': gxJson({ source: { kind: 'uv', root: '..' } }),
      'py/uv.lock': '',
      'py/pyproject.toml': PROJECT,
      'pyproject.toml': PROJECT,
    },
    { folders: [{ folder: 'py', isPackage: true, uvLock: 'py' }], locked: true },
  ],
  [
    'requirements with hashes',
    { 'gx.json': gxJson(), 'requirements.txt': HASHED },
    { folders: [{ folder: '', isPackage: false, requirements: 'requirements.txt' }], locked: true },
  ],
  [
    'requirements without them',
    { 'gx.json': gxJson(), 'requirements.txt': 'idna==3.20\n' },
    { locked: false },
  ],
  [
    'requirements that name others',
    { 'gx.json': gxJson(), 'requirements.txt': `${HASHED}-r more.txt\n` },
    { locked: false },
  ],
  [
    'a pyproject.toml that has the settings of tools alone',
    {
      'gx.json': gxJson(),
      'pyproject.toml': '[tool.ruff]\nline-length = 120\n',
      'requirements.txt': HASHED,
    },
    { folders: [{ folder: '', isPackage: false, requirements: 'requirements.txt' }] },
  ],
  [
    'a package of Poetry',
    { 'gx.json': gxJson(), 'pyproject.toml': '[tool.poetry]\nname = "a"\n', 'poetry.lock': '' },
    {
      folders: [
        { folder: '', isPackage: true, requirements: 'pyproject.toml', otherLock: 'poetry.lock' },
      ],
      locked: true,
    },
  ],
  [
    'a package without dependencies',
    { 'gx.json': gxJson(), 'pyproject.toml': PROJECT },
    { folders: [{ isPackage: true, requirements: 'pyproject.toml' }], locked: true },
  ],
  [
    'setup.py',
    { 'gx.json': gxJson(), 'setup.py': '' },
    { folders: [{ folder: '', isPackage: true, requirements: 'setup.py' }], locked: false },
  ],
  [
    'packages that gx.json names',
    { 'gx.json': gxJson({ dependencies: ['.', 'idna>=3'] }) },
    { folders: [{ folder: '', isPackage: false }], named: ['idna>=3'], locked: false },
  ],
  [
    'pip.conf and a version',
    {
      'gx.json': gxJson({ pip_config_file: './pip.conf', python_version: '3.12' }),
      'pip.conf': '',
    },
    { pipFile: 'pip.conf', version: '3.12' },
  ],
])('%s', (_what, files, plan) => {
  expect(
    planned(
      files,
      Object.keys(files).find((name) => name.endsWith('gx.json')),
    ).python,
  ).toMatchObject(plan);
});

test('only a project whose files say all versions has a key, which changes with them and not with its modules', () => {
  const key = (files: Files): string | undefined => planned({ 'gx.json': gxJson(), ...files }).key;
  const hashed = key({ 'requirements.txt': HASHED });
  expect(hashed).toMatch(/^[0-9a-f]{64}$/);
  expect(key({ 'requirements.txt': HASHED, 'graph.py': 'graph = 1' })).toBe(hashed);
  expect(key({ 'requirements.txt': HASHED.replace('aa', 'ab') })).not.toBe(hashed);
  expect(key({ 'requirements.txt': 'idna' })).toBeUndefined();
});

test('packages of Node are installed where something needs them', () => {
  const files = {
    'gx.json': gxJson(),
    'package.json': '{"dependencies": {"ms": "1"}}',
    'package-lock.json': '{}',
  };
  expect(planned(files).projects).toEqual([]);
  const both = {
    ...files,
    'gx.json': gxJson({ graphs: { one: './graph.py:graph', other: './graph.ts:graph' } }),
  };
  expect(planned(both)).toMatchObject({
    projects: [{ manager: { name: 'npm' } }],
    python: { folders: [{ folder: '' }] },
  });
  expect(
    planned({ ...files, 'gx.json': gxJson({ ui: { agent: './ui.tsx' } }) }).projects,
  ).toHaveLength(1);
});

test.each<[string, Files, string]>([
  [
    'a folder that is not there',
    { 'gx.json': gxJson({ dependencies: ['./lib'] }) },
    '"dependencies" of gx.json names ./lib',
  ],
  [
    'a pip.conf that is not there',
    { 'gx.json': gxJson({ pip_config_file: 'pip.conf' }) },
    '"pip_config_file" of gx.json names pip.conf',
  ],
  [
    'another kind of source',
    { 'gx.json': gxJson({ source: { kind: 'conda' } }) },
    'has a kind that is not "uv"',
  ],
  ['a source without uv.lock', { 'gx.json': gxJson({ source: { kind: 'uv' } }) }, 'run uv lock'],
  [
    'a source beside dependencies',
    { 'gx.json': gxJson({ source: { kind: 'uv' }, dependencies: ['.'] }), 'uv.lock': '' },
    'remove "dependencies", or "source"',
  ],
  [
    'an embedding in Python beside graphs in JavaScript alone',
    {
      'gx.json': gxJson({
        graphs: { agent: './graph.js:graph' },
        store: { index: { dims: 2, embed: './embed.py:embed' } },
      }),
    },
    '"store.index.embed" of gx.json is in Python (./embed.py:embed), and all graphs are in JavaScript',
  ],
])('%s ends the build with a sentence', (_what, files, words) => {
  expect(() => planned(files)).toThrow(words);
});

test('a project in Python stands on the base image of Python, and fails where there is none', () => {
  const config = readImageBuildConfig({ GX_BASE_IMAGE: 'a:1', GX_PYTHON_BASE_IMAGE: 'p:1' });
  expect(applyBaseImage({ python: true }, config).baseImage).toBe('p:1');
  expect(applyBaseImage({ python: false }, config).baseImage).toBe('a:1');
  expect(() =>
    applyBaseImage({ python: true }, readImageBuildConfig({ GX_BASE_IMAGE: 'a:1' })),
  ).toThrow('images.agentServerPython');
});

test('pip.conf becomes options of uv', () => {
  const file = `# ours
[global]
index-url = https://pypi.example.com/simple
extra_index_url =
    https://one.example.com/simple
    https://two.example.com/simple
timeout = 60
progress_bar = off
require-virtualenv = true
[install]
trusted-host: one.example.com
[list]
format = json
`;
  expect(parseUvOptions(file)).toEqual({
    options: (
      '--default-index https://pypi.example.com/simple --index https://one.example.com/simple --index https://two.example.com/simple ' +
      '--allow-insecure-host one.example.com --index-strategy unsafe-best-match'
    ).split(' '),
    unknown: ['require-virtualenv'],
  });
  expect(parseUvOptions('[global]\ntimeout = 60\n')).toEqual({ options: [], unknown: [] });
});

test('the export of uv.lock has packages of indexes, and those of the repository', () => {
  const exported = `-e .
-e ./libs/one
./libs/two ; python_full_version >= '3.11'
idna==3.20 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
thing @ git+https://example.com/thing@0f
`;
  expect(parseUvExport(exported)).toEqual({
    requirements:
      'idna==3.20 --hash=sha256:aa --hash=sha256:bb\nthing @ git+https://example.com/thing@0f',
    own: ['.', './libs/one', './libs/two'],
  });
});

test('links of editable packages lead to the repository in the image, whatever wrote them', () => {
  const source = mkdtempSync(join(tmpdir(), 'gx-venv-'));
  const site = '.venv/lib/python3.13/site-packages';
  written(source, {
    [`${site}/hatch.pth`]: `${source}/one/src\n`,
    [`${site}/__editable__.two-1.pth`]:
      'import __editable___two_1_finder; __editable___two_1_finder.install()',
    [`${site}/__editable___two_1_finder.py`]: `MAPPING: dict[str, str] = {'two': '${source}/two/two'}\n`,
    [`${site}/two-1.dist-info/direct_url.json`]: `{"url":"file://${source}/two","dir_info":{"editable":true}}`,
    [`${site}/two-1.dist-info/uv_cache.json`]: '{"timestamp": 1}',
    [`${site}/two-1.dist-info/RECORD`]:
      '__editable__.two-1.pth,sha256=aa,70\ntwo-1.dist-info/direct_url.json,sha256=bb,60\ntwo-1.dist-info/METADATA,sha256=cc,50\n',
    [`${site}/other.pth`]: '/usr/lib/somewhere\n',
    'agents/mine/__init__.py': '',
    'plain/graph.py': '',
  });
  addFolders({ venv: join(source, '.venv'), source, folders: ['agents/mine', 'plain', ''] });
  patchEditableLinks({ venv: join(source, '.venv'), source, agent: '/agent' });
  const text = (name: string): string => readFileSync(join(source, site, name), 'utf8');
  expect(text('hatch.pth')).toBe('../../../../one/src\n');
  expect(text('__editable___two_1_finder.py')).toBe(
    "MAPPING: dict[str, str] = {'two': '/agent/two/two'}\n",
  );
  expect(text('two-1.dist-info/direct_url.json')).toContain('"file:///agent/two"');
  expect(() => text('two-1.dist-info/uv_cache.json')).toThrow('ENOENT');
  expect(text('two-1.dist-info/RECORD')).toBe(
    '__editable__.two-1.pth,,\ntwo-1.dist-info/direct_url.json,,\ntwo-1.dist-info/METADATA,sha256=cc,50\n',
  );
  expect(text('other.pth')).toBe('/usr/lib/somewhere\n');
  expect(text('gx_folders.pth')).toBe('../../../../agents\n../../../../plain\n../../../..\n');
});

test('indexes of uv.lock besides the public one are asked for its packages', () => {
  const source = (registry: string): string =>
    `[[package]]\nname = "a"\nsource = { registry = "${registry}" }\n`;
  const registries = [
    'https://pypi.org/simple',
    'https://a.example/whl',
    'https://a.example/whl',
    'https://b.example/simple/',
    '../wheels',
  ];
  expect(parseLockIndexes(registries.map(source).join(''))).toEqual([
    '--index',
    'https://a.example/whl',
    '--index',
    'https://b.example/simple/',
    '--index-strategy',
    'unsafe-first-match',
  ]);
  expect(parseLockIndexes(source('https://pypi.org/simple'))).toEqual([]);
});
