import { globSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

/* This file finds the settings of the processes, the values of the chart, and what sets each of them. */

export type Texts = ReadonlyMap<string, string>;

/** Returns the texts of files by their path. The files of this folder that speak of all settings set none. */
export const textsOf = (patterns: string[]): Texts =>
  new Map(
    globSync(patterns)
      .filter((file) => !/\/golden\/|^test\/config\/in-use/.test(file))
      .map((file) => [file, readFileSync(file, 'utf8')]),
  );

const TESTS = ['test/**/*.ts', 'test/**/*.mjs'];
const GUIDES = [
  'README.md',
  'docs/quick-start.md',
  'docs/security.md',
  'docs/how-to/*.md',
  'examples/**/*.{md,json,yaml}',
];

export type Readers = { tests: Texts; guides: Texts };
export const readers = (): Readers => ({ tests: textsOf(TESTS), guides: textsOf(GUIDES) });

const some = (texts: Texts, word: RegExp): boolean =>
  [...texts.values()].some((text) => word.test(text));

/** Returns each setting that the sources read, with the names that set it: its own and those of the same reading. */
export function settingsIn(sources: Texts): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const text of sources.values()) {
    const readings = [...text.matchAll(/\(\s*\[\s*((?:'[A-Z0-9_]+'(?:,\s*)?)+)\]/g)].map(
      ([, list = '']) => namesIn(list),
    );
    for (const name of namesIn(text).filter((one) => one.startsWith('GX_'))) {
      const ways = found.get(name) ?? new Set([name]);
      for (const reading of readings)
        if (reading.includes(name)) for (const way of reading) ways.add(way);
      found.set(name, ways);
    }
  }
  return found;
}

const namesIn = (text: string): string[] =>
  [...text.matchAll(/'([A-Z][A-Z0-9_]+)'/g)].map(([, name = '']) => name);

/** Returns whether a test gives the variable a value, or a guide names it. */
export const isSet = (name: string, { tests, guides }: Readers): boolean =>
  some(tests, new RegExp(`\\b${name}\\b['"]?\\]?\\s*[:=,\\]]`)) ||
  some(guides, new RegExp(`\\b${name}\\b`));

/** Returns the paths of a chart's values. */
export function valuesIn(text: string): string[][] {
  const leaves = (value: unknown, at: string[]): string[][] => {
    const entries =
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value)
        : [];
    return entries.length === 0
      ? [at]
      : entries.flatMap(([key, inner]) => leaves(inner, [...at, key]));
  };
  return leaves(parse(text), []);
}

/** Returns whether a template reads the value, or a section with it as a whole. */
export const isRead = (path: string[], templates: Texts): boolean => {
  const leaf = path.at(-1);
  return some(
    templates,
    new RegExp(`[.]${leaf}\\b|to(Yaml|Json) [.$\\w]*[.](${path.join('|')})\\b(?![.])`),
  );
};

/**
 * Returns whether a test of the chart or a guide sets the value. The last word of its path shows that; where several
 * values end in the same word, the one before must stand in the same test, or shortly before it in a guide.
 */
export function isValueSet(path: string[], all: string[][], { tests, guides }: Readers): boolean {
  const [leaf = '', parent = ''] = path.toReversed();
  const isAlone = all.filter((other) => other.at(-1) === leaf).length === 1;
  const word = (name: string): RegExp => new RegExp(`\\b${name}\\b`);
  const near = new RegExp(`\\b${parent}\\b[^}]{0,300}?\\b${leaf}\\b`);
  const inTest = (text: string): boolean =>
    word(leaf).test(text) && (isAlone || word(parent).test(text));
  const inGuide = (text: string): boolean => (isAlone ? word(leaf) : near).test(text);
  const ofChart = [...tests]
    .filter(([file]) => file.startsWith('test/charts/'))
    .map(([, text]) => text);
  return ofChart.some(inTest) || [...guides.values()].some(inGuide);
}

/** Returns the values that a template hands to a process as this variable. */
export function valuesOf(name: string, all: string[][], templates: Texts): string[][] {
  const lines = [...templates.values()]
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.includes(`"${name}"`));
  return all.filter((path) => lines.some((line) => new RegExp(`[.]${path.at(-1)}\\b`).test(line)));
}
