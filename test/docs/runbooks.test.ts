import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandsIn } from '../runbooks/cure.ts';
import { FAULTS } from '../runbooks/faults.ts';

/* The cures of docs/runbooks. `make test-runbooks` runs their commands. */

const PAGE = `# A fault

## Where to look

\`\`\`sh
kubectl get pods
\`\`\`

## Cure

- The first way: read the log.
- The second way, of two blocks:

  \`\`\`sh
  kubectl delete pod "$POD"
  \`\`\`

  Then look again:

  \`\`\`sh
  kubectl get pod "$POD" \\
    -o name
  \`\`\`

## Later
`;

test('the commands of a cure are those of its entry, as they stand on the page', () => {
  expect(commandsIn(PAGE, { file: 'a.md', entry: 'second way' })).toBe(
    'kubectl delete pod "$POD"\n\nkubectl get pod "$POD" \\\n  -o name\n',
  );
});

test.each([
  ['an entry that the page does not have', 'third way', 'a.md has 0 cures with "third way"'],
  ['an entry without commands', 'first way', 'a.md has no commands in the cure with "first way"'],
  ['words of several entries', 'way', 'a.md has 2 cures with "way"'],
])('%s is refused', (_, entry, message) => {
  expect(() => commandsIn(PAGE, { file: 'a.md', entry })).toThrow(message);
});

test.each(FAULTS.map(({ name, page }) => [name, page] as const))(
  'the page about this fault has commands that cure it: %s',
  (_, page) => {
    expect(commandsIn(readFileSync(`docs/runbooks/${page.file}`, 'utf8'), page)).toMatch(
      /kubectl|helm|curl/,
    );
  },
);

const PAGES = globSync('docs/runbooks/*.md').filter((file) => !file.endsWith('README.md'));

test.each(PAGES)('a reader of %s knows where to look, and what to set for its commands', (file) => {
  const text = readFileSync(file, 'utf8');
  const commands = [...text.matchAll(/^ *```sh\n(.*?)^ *```$/gms)]
    .map(([, block = '']) => block)
    .join('\n');
  expect(text.split('## Where to look')[1]?.split('## Cure')[0]).toContain('```sh\n');
  const asked = [...commands.matchAll(/\$\{?([A-Z]+)/g)].map(([, name = '']) => name);
  const unknown = asked.filter(
    (name) =>
      !text.includes(`\`${name}\``) && !new RegExp(`^ *(for )?${name}(=| in )`, 'm').test(commands),
  );
  expect([...new Set(unknown)]).toEqual([]);
});
