import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

type Workflow = {
  on: object;
  jobs: Record<string, { needs?: string; if: string; steps: { run?: string }[] }>;
};

const workflow = parse(readFileSync('examples/ci/github-actions.yml', 'utf8')) as Workflow;
const lines = Object.values(workflow.jobs).flatMap(({ steps }) =>
  steps.flatMap(({ run }) => (run === undefined ? [] : [run])),
);

test.each(lines)('the help knows what the workflow says: %s', (line) => {
  const [, script = ''] = /^node ci\/(\w+)\.mjs /.exec(line) ?? [];
  const help = execFileSync(process.execPath, [`examples/ci/${script}.mjs`, '--help'], {
    encoding: 'utf8',
  });
  const words = line
    .split(' ')
    .filter((word) => word.startsWith('--') || ['up', 'run', 'down'].includes(word));
  expect(words.filter((word) => !help.includes(word))).toEqual([]);
});

test('every pull request gets a preview, and loses it when it is closed', () => {
  const used = Object.entries(workflow.jobs).map(([name, { needs = null, steps }]) => {
    const commands = steps.flatMap(
      ({ run = '' }) => /(\w+)\.mjs( up| run| down)?/.exec(run)?.[0] ?? [],
    );
    return [name, needs, commands];
  });
  expect(used).toEqual([
    ['image', null, []],
    ['deploy', 'image', ['deploy.mjs']],
    ['preview', 'image', ['preview.mjs up', 'preview.mjs run']],
    ['preview-down', null, ['preview.mjs down']],
  ]);
});
