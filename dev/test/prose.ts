import { globSync, readFileSync } from 'node:fs';
import { DevError } from '../errors.ts';
import { maskLineStarts, checkClauses, checkWords } from '../lint/words.ts';
import { buildReferencePages } from '../reference/pages.ts';
import { runMain, printLine } from '../steps.ts';

/*
 * Lines of prose in Markdown files are at most as wide as those of comments, which the lint measures
 * (house/comment-width). Pages, the chart and the make targets use the words that the lint asks of code (house/words).
 */
const MOST_COLUMNS = 120;
const PAGES = [
  '*.md',
  'docs/**/*.md',
  'src/**/*.md',
  'dev/**/*.md',
  'examples/**/*.md',
  'charts/**/*.md',
];
/** Further files whose words are read by users. Lint reads TypeScript, and the CRDs are printed from it. */
const WORDED = ['charts/**/*.{yaml,tpl,txt}', 'config/samples/**/*.yaml', 'Makefile'];

/** Returns the lines that are too wide, except rows of tables, addresses and blocks of code. */
function listWideLines(page: string): string[] {
  let isCode = false;
  return readFileSync(page, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (/^\s*```/.test(line)) isCode = !isCode;
      const isWide =
        line.length > MOST_COLUMNS &&
        !isCode &&
        !line.trimStart().startsWith('|') &&
        !line.includes('://');
      return isWide ? [`${page}:${index + 1} has ${line.length} columns`] : [];
    });
}

/** Pages that users read. Decisions and the changelog of earlier versions keep their words. */
const READ = /^(README\.md|examples\/|charts\/|docs\/(?!decisions))/;
/** Verbs of position, and other private words, for which the field has a term. */
const STUMBLES: readonly (readonly [words: RegExp, advice: string])[] = [
  [/\b(?:go|goes|serve|serves) on\b(?! to\b)/g, 'Write continue, or keep serving'],
  [/\b(?:give|gives|gave|given) up\b/g, 'Write abort, drop, fail or stop'],
  [/\b(?:is|are) away\b/g, 'Write that it does not answer, or is down'],
  [/\b(?:lie|lies|stand|stands) (?:in|at|on|below|before|beside)\b/g, 'Write is'],
  [/\bsigns? of life\b/g, 'Write heartbeat, or name the data that arrives'],
];

/** Blocks of code and headings, which other pages link to. */
const NO_SENTENCES = /^ *```[\s\S]*?^ *```|^#.*/gm;

function listOddWords(file: string): string[] {
  const whole = readFileSync(file, 'utf8');
  const text = file.endsWith('.md')
    ? whole.replaceAll(NO_SENTENCES, (part) => part.replaceAll(/./g, ' '))
    : whole;
  return [...checkWords(text), ...checkClauses(maskLineStarts(text)), ...checkStumbles(file, text)]
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, message }) => `${file}:${text.slice(0, index).split('\n').length} ${message}`);
}

const checkStumbles = (file: string, text: string): { index: number; message: string }[] =>
  READ.test(file)
    ? STUMBLES.flatMap(([words, advice]) =>
        [...maskLineStarts(text).matchAll(words)].map(({ 0: found, index }) => ({
          index,
          message: `A native reader stumbles over "${found}". ${advice}.`,
        })),
      )
    : [];

async function main(): Promise<void> {
  const exclude = ['**/node_modules/**', 'dev/cluster/parts/**', 'charts/*/templates/crds/**'];
  const printed = Object.keys(buildReferencePages()).map((page) => `docs/reference/${page}`);
  const pages = globSync(PAGES, { exclude });
  const wide = pages.filter((page) => !printed.includes(page)).flatMap(listWideLines);
  if (wide.length > 0)
    throw new DevError(`Prose has at most ${MOST_COLUMNS} columns:\n${wide.join('\n')}`);
  const odd = [...pages, ...globSync(WORDED, { exclude })].flatMap(listOddWords);
  if (odd.length > 0)
    throw new DevError(`Prose uses the words of the field (dev/lint/words.ts):\n${odd.join('\n')}`);
  printLine(`${pages.length} pages of prose`);
}

await runMain(main);
