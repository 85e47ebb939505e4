import { describe, expect, test } from 'vitest';
import { nextSteps, packageNameOf, planFor } from '../../../../src/agent/dev/new-project/files.ts';

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
  const packages = ['@langchain/core@^1.4.0', '@langchain/langgraph@^1.7.0'];

  test('in a folder of its own: enter it, install, start', () => {
    const said = nextSteps({ folder: 'my agent', plan: { write: files, keep: [] }, packages });
    expect(said).toContain('  cd "my agent"\n  npm install\n  npx gx dev\n');
  });

  test('beside a package.json that stays: its packages by name', () => {
    const said = nextSteps({ folder: '.', plan: { write: ['gx.json'], keep: ['package.json'] }, packages });
    expect(said).toContain('Kept as they were: package.json');
    expect(said).toContain('  npm install @langchain/core@^1.4.0 @langchain/langgraph@^1.7.0\n  npx gx dev\n');
    expect(said).not.toContain('cd ');
  });
});
