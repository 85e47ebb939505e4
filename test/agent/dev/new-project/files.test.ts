import { describe, expect, test } from 'vitest';
import { JAVASCRIPT, nextSteps, packageNameOf, planFor, PYTHON } from '../../../../src/agent/dev/new-project/files.ts';

const files = ['gx.json', 'graph.ts', 'package.json', 'README.md'];

describe('what gx new writes', () => {
  test('an empty folder gets all of it', () => expect(planFor(files, new Set())).toEqual({ write: files, keep: [] }));

  test('what any project may have stays as it is', () => {
    expect(planFor(files, new Set(['package.json', 'README.md']))).toEqual({
      write: ['gx.json', 'graph.ts'],
      keep: ['package.json', 'README.md'],
    });
  });

  test('an agent that is there already is in the way', () => {
    expect(planFor(files, new Set(['gx.json', 'package.json']))).toEqual({ inTheWay: ['gx.json'] });
  });

  test.each([
    ['my-agent', 'my-agent'],
    ['My Agent!', 'my-agent'],
    ['_hidden', 'hidden'],
    ['日本', 'my-agent'],
  ])('a folder %s is the package %s', (folder, name) => expect(packageNameOf(folder)).toBe(name));
});

describe('what gx new says', () => {
  const manifest = JSON.stringify({ name: 'x', dependencies: { '@langchain/core': '^1.4.0', '@langchain/langgraph': '^1.7.0' } });
  const pyproject = '[project]\nname = "x"\ndependencies = ["langgraph>=1.1", "langchain-core>=1.0"]\n\n[tool.other]\nnames = []\n';

  test('in a folder of its own: enter it, install, start', () => {
    const said = nextSteps({ folder: 'my agent', plan: { write: files, keep: [] }, commands: JAVASCRIPT.next(manifest, false) });
    expect(said).toContain('  cd "my agent"\n  npm install\n  npx gx dev\n');
  });

  test('beside a package.json that stays: its packages by name', () => {
    const plan = { write: ['gx.json'], keep: ['package.json'] };
    const said = nextSteps({ folder: '.', plan, commands: JAVASCRIPT.next(manifest, true) });
    expect(said).toContain('Kept as they were: package.json');
    expect(said).toContain('  npm install @langchain/core@^1.4.0 @langchain/langgraph@^1.7.0\n  npx gx dev\n');
    expect(said).not.toContain('cd ');
  });

  test('in Python: an environment beside gx.json, with the packages of the project', () => {
    expect(PYTHON.next(pyproject, false)).toEqual([`python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'`, 'gx dev']);
    expect(PYTHON.next(pyproject, true)[0]).toMatch(/install 'langgraph>=1\.1' 'langchain-core>=1\.0'$/);
    expect(PYTHON.named(pyproject, 'mine')).toBe(pyproject.replace('"x"', '"mine"'));
  });
});
