import { expect, test } from 'vitest';
import { maskLineStarts, checkClauses, checkWords } from '../../dev/lint/words.ts';

const places = [
  ['a comment', (word: string) => `/** The server is ${word} here. */`],
  ['a message', (word: string) => `throw new Conflict('It was ${word} by the host.');`],
  ['a page', (word: string) => `- **Limits.** The host ${word} it.`],
] as const;

const WORDS = ['told', 'said', 'figures', 'anew', 'papers', 'whoever', 'no such thing', 'for ever'];

test.each(
  WORDS.flatMap((word) => places.map(([place, planted]) => [word, place, planted(word)] as const)),
)('"%s" is refused in %s', (word, _place, text) => {
  expect(checkWords(text)).toEqual([
    { index: text.indexOf(word), message: expect.stringContaining(`"${word}"`) as string },
  ]);
});

test.each([
  ['toldByPods', 'its first part'],
  ['isTold', 'a later part'],
  ['TOLD_ONLY', 'a constant'],
  ['workFigures', 'a type or value'],
  ['Whoever', 'the beginning of a sentence'],
])('%s is refused: %s', (text) => {
  expect(checkWords(text)).toHaveLength(1);
});

test.each(['configures the loader', 'newspapers', 'unsaid', 'Toldo', 'tells'])(
  '%s is no such word',
  (text) => {
    expect(checkWords(text)).toEqual([]);
  },
);

test.each([
  '/** What is kept of a run. */',
  '/** Returns what a graph takes. */',
  '/** Counts the bytes of\n * what is kept. */',
  'description: `What ${whose} pods looked like.`',
  'The fence holds what the host sends.',
])('a clause without a noun is refused: %s', (text) => {
  expect(checkClauses(maskLineStarts(text))).toHaveLength(1);
});

test.each([
  'The message says what to change.',
  'The message says\n * what to change.',
  'It knows what the client has seen.',
  'What wakes it?',
  '| What | Measured |',
  'Set `what` to the name.',
])('a question, a heading of a table and a name in code are no such clause: %s', (text) => {
  expect(checkClauses(maskLineStarts(text))).toEqual([]);
});
