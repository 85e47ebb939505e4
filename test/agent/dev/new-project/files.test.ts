import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  JAVASCRIPT,
  formatNextSteps,
  toPackageName,
  planProjectFiles,
  PYTHON,
} from '../../../../src/agent/dev/new-project/files.ts';
import {
  keepPackedFile,
  resolvePackageSource,
} from '../../../../src/agent/dev/new-project/write.ts';

const files = ['gx.json', 'graph.ts', 'package.json', 'README.md'];

describe('what gx new writes', () => {
  test('an empty folder gets all of it', () =>
    expect(planProjectFiles(files, new Set())).toEqual({ write: files, keep: [] }));

  test('what any project may have stays as it is', () => {
    expect(planProjectFiles(files, new Set(['package.json', 'README.md']))).toEqual({
      write: ['gx.json', 'graph.ts'],
      keep: ['package.json', 'README.md'],
    });
  });

  test('an agent that is there already is in the way', () => {
    expect(planProjectFiles(files, new Set(['gx.json', 'package.json']))).toEqual({
      inTheWay: ['gx.json'],
    });
  });

  test.each([
    ['my-agent', 'my-agent'],
    ['My Agent!', 'my-agent'],
    ['_hidden', 'hidden'],
    ['日本', 'my-agent'],
  ])('a folder %s is the package %s', (folder, name) => expect(toPackageName(folder)).toBe(name));
});

describe('what gx new says', () => {
  const manifest = JSON.stringify({
    name: 'x',
    dependencies: { '@langchain/core': '^1.4.0', '@langchain/langgraph': '^1.7.0' },
  });
  const pyproject =
    '[project]\nname = "x"\ndependencies = ["langgraph>=1.1", "langchain-core>=1.0"]\n\n[tool.other]\nnames = []\n';

  test('in a folder of its own: enter it, install, start', () => {
    const said = formatNextSteps({
      folder: 'my agent',
      plan: { write: files, keep: [] },
      commands: JAVASCRIPT.next(manifest, false),
    });
    expect(said).toContain('  cd "my agent"\n  npm install\n  gx dev\n');
  });

  test('beside a package.json that stays: its packages by name', () => {
    const plan = { write: ['gx.json'], keep: ['package.json'] };
    const said = formatNextSteps({ folder: '.', plan, commands: JAVASCRIPT.next(manifest, true) });
    expect(said).toContain('Kept as they were: package.json');
    expect(said).toContain(
      '  npm install @langchain/core@^1.4.0 @langchain/langgraph@^1.7.0\n  gx dev\n',
    );
    expect(said).not.toContain('cd ');
  });

  test('of an npm package: the project has it, and names no package of a stranger', () => {
    const own = JAVASCRIPT.named(manifest, { name: 'mine', platform: '^0.1.0' });
    expect(JSON.parse(own)).toMatchObject({
      name: 'mine',
      devDependencies: { 'gx-platform': '^0.1.0' },
    });
    expect(JAVASCRIPT.next(own, false)).toEqual(['npm install', 'npm run dev']);
    expect(JAVASCRIPT.next(own, true)).toEqual([
      expect.stringContaining('gx-platform@^0.1.0'),
      'npx gx-platform dev',
    ]);
  });

  test.each([
    [
      'a tarball',
      { version: '0.1.0', resolved: 'file:../packed/gx-platform-0.1.0.tgz' },
      'file:/home/packed/gx-platform-0.1.0.tgz',
    ],
    [
      'a registry',
      { version: '0.1.0', resolved: 'https://npm.example.com/gx-platform/-/gx-platform-0.1.0.tgz' },
      '^0.1.0',
    ],
    [
      'a URL',
      { version: '0.1.0', resolved: 'https://example.com/gx-platform-0.1.0.tgz' },
      'https://example.com/gx-platform-0.1.0.tgz',
    ],
  ])('a package from %s is installed from there again', (_, locked, origin) => {
    expect(resolvePackageSource(locked, '/home/me')).toBe(origin);
  });

  test('a packed file goes into the project, so that a clone and a build from git have it', () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'gx-new-')), 'gx-platform-0.1.0.tgz');
    expect(keepPackedFile(`file:${file}`)).toEqual({ platform: `file:${file}` });
    writeFileSync(file, 'packed');
    expect(keepPackedFile(`file:${file}`)).toEqual({
      platform: 'file:vendor/gx-platform-0.1.0.tgz',
      packed: { 'vendor/gx-platform-0.1.0.tgz': Buffer.from('packed') },
    });
    rmSync(path.dirname(file), { recursive: true });
    expect(keepPackedFile('^0.1.0')).toEqual({ platform: '^0.1.0' });
    expect(keepPackedFile(undefined)).toEqual({ platform: undefined });
  });

  test('in Python: an environment beside gx.json, with the packages of the project', () => {
    expect(PYTHON.next(pyproject, false)).toEqual([
      `python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'`,
      'gx dev',
    ]);
    expect(PYTHON.next(pyproject, true)[0]).toMatch(
      /install 'langgraph>=1\.1' 'langchain-core>=1\.0'$/,
    );
    expect(PYTHON.named(pyproject, { name: 'mine', platform: undefined })).toBe(
      pyproject.replace('"x"', '"mine"'),
    );
  });
});
