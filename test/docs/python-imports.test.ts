import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/* The sentences of the page about imports are those that the code says. */

const page = readFileSync('docs/how-to/python-imports.md', 'utf8');
const code = globSync(['python/gx_runner/**/*.py', 'src/agent/**/*.ts', 'src/builder/**/*.ts'])
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');
const sentences = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, sentence = '']) => sentence);
/** Those of Python itself, and of packages, name the class of an error. */
const ours = sentences.filter((sentence) => !/\w+Error: /.test(sentence));

/** Returns the words between the places that a sentence leaves open. */
const fixedParts = (sentence: string): string[] =>
  sentence.split('...').map((part) => part.replace(/^[^\w@]+|[^\w.]+$/g, '').replace(/\.$/, ''));

test.each(ours)('%s', (sentence) => {
  expect(fixedParts(sentence).filter((part) => !code.includes(part))).toEqual([]);
});

test('there are many', () => {
  expect(ours.length).toBeGreaterThan(18);
  expect(sentences.length).toBeGreaterThan(ours.length + 5);
});
