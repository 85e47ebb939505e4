import type { NamedFunction } from './functions.ts';
import { isParticiple, PREPOSITIONS, QUESTIONS, VERBS } from './verbs.ts';

/** Splits a name in camel or snake case into its words, in small letters. */
export const splitName = (name: string): string[] =>
  name
    .replace(/^[_$]+/, '')
    .replaceAll('_', ' ')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(' ');

/** Components and hooks of the page are nouns, as Preact has it, and `main` is a program. */
export const isNamedByRule = ({ file, name }: Pick<NamedFunction, 'file' | 'name'>): boolean =>
  name === 'main' || (file.startsWith('src/console/page/') && /^(?:[A-Z]|use[A-Z])/.test(name));

/** How the name of a function begins. */
export type NameForm = 'verb' | 'question' | 'participle' | 'preposition' | 'other';

export function findNameForm(name: string): NameForm {
  const [first = '', ...rest] = splitName(name);
  if (QUESTIONS.has(first)) return 'question';
  // `endOf` begins with a noun that is spelled like a verb.
  if (rest[0] === 'of') return 'preposition';
  if (VERBS.has(first)) return 'verb';
  if (isParticiple(first)) return 'participle';
  return PREPOSITIONS.has(first) || rest.some((word) => PREPOSITIONS.has(word))
    ? 'preposition'
    : 'other';
}
