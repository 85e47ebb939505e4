import type { Location, Node, Rule } from './rule.ts';

/*
 * Words and clauses that are correct English, and that no native reader of this field would write. The lint holds the
 * code to them (house/words), and dev/test/prose.ts the pages.
 */

/** A place in a text, and the advice. */
export type WordFault = { index: number; message: string };

const WAYS = 'Name the way: reported, sent, printed, configured, labelled';
/** The words, each with its advice. They count in names, too, as a part of them: `isTold`. */
const WORDS: readonly (readonly [word: string, advice: string])[] = [
  ['told', WAYS],
  ['said', WAYS],
  ['figures', 'Write numbers, counts, sizes or metrics'],
  ['anew', 'Write again'],
  ['papers', 'Write documentation, or name the document'],
  ['whoever', 'Name the caller, or write anyone who'],
  ['no such thing', 'Write that it does not exist'],
  ['for ever', 'Write forever'],
];

/** Folders and files whose words are edited later. An edit takes its folder from the list. */
const LATER = [
  'src/agent/db/encryption/encryption-keys.ts',
  'src/agent/db/runs/ends.ts',
  'src/agent/db/runs/leases.ts',
  'src/agent/db/runs/runs.ts',
  'src/agent/runs/executing/cancel.ts',
  'src/agent/runs/executing/ends/finish.ts',
  'src/agent/runs/executing/ends/hand-back.ts',
  'src/agent/runs/executing/ends/roll-back.ts',
  'src/agent/runs/executing/keeper.ts',
  'src/operator/deployment/parts/trust.ts',
  'src/operator/deployment/parts/without-effect.ts',
  'src/operator/revision/refusal.ts',
  'examples/',
  'test/',
];
const QUOTES = 'dev/lint/words.ts';

/** Verbs before `what` that make it an indirect question, which has no better form: "says what to do". */
const ASKING =
  /\b(?:(?:ask|check|decide|describe|explain|find out|know|learn|matter|print|report|say|see|show|tell|test)(?:s|ing)?|known|shown)["'`:(,]*\s*$/i;

/** Returns a pattern of the word as a word of its own, or as a part of a name. */
function buildWordPattern(word: string): RegExp {
  const capital = word.charAt(0).toUpperCase() + word.slice(1);
  return new RegExp(
    `(?:(?<![A-Za-z])${word}|${capital}|(?<![A-Za-z])${word.toUpperCase()})(?![a-z])`,
    'g',
  );
}

const PATTERNS = WORDS.map(([word, advice]) => ({
  pattern: buildWordPattern(word),
  message: `No reader expects "${word}". ${advice}.`,
}));

/** Returns where a text has one of the words. */
export const checkWords = (text: string): WordFault[] =>
  PATTERNS.flatMap(({ pattern, message }) =>
    [...text.matchAll(pattern)].map(({ index }) => ({ index, message })),
  );

/** Returns where `what` stands for a noun ("what is kept of it"), and neither in a question nor over a column. */
export const checkClauses = (text: string): WordFault[] =>
  [...text.matchAll(/(?<![\w{.-])what(?![\w`}-]| \|)/gi)]
    .filter(
      ({ index }) =>
        !ASKING.test(text.slice(Math.max(0, index - 30), index)) &&
        !/^[^.!?|]*\?/.test(text.slice(index)),
    )
    .map(({ index }) => ({ index, message: 'This "what" stands for a noun. Write the noun.' }));

/** Returns the text with the beginnings of its lines blank, so that sentences over several lines read as one. */
export const maskLineStarts = (text: string): string =>
  text.replaceAll(/\n[ \t]*(?:\*|\/\/|#+|>)?/g, (begin) => ' '.repeat(begin.length));

const isHeldToWords = (file: string): boolean =>
  file !== QUOTES && !LATER.some((place) => file.startsWith(place));

/** Comments, messages and names use the words of the field. */
export const words: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const { lines, getAllComments } = context.sourceCode;
    if (!isHeldToWords(context.filename.slice(context.cwd.length + 1))) return {};
    const begins = listLineStarts(lines);
    const sentences: { from: number; to: number }[] = [];
    const computeOffset = ({ line, column }: Location['start']): number =>
      (begins[line - 1] ?? 0) + column;
    const add = ({ range: [from, to] }: Node): unknown => sentences.push({ from, to });
    return {
      Literal: (node) => void (typeof node['value'] === 'string' && add(node)),
      TemplateElement: (node) => void add(node),
      'Program:exit'() {
        for (const { loc } of getAllComments.call(context.sourceCode))
          sentences.push({ from: computeOffset(loc.start), to: computeOffset(loc.end) });
        const text = lines.join('\n');
        const clauses = checkClauses(maskLineStarts(text)).filter(({ index }) =>
          sentences.some(({ from, to }) => from <= index && index < to),
        );
        for (const { index, message } of [...checkWords(maskImports(text)), ...clauses])
          context.report({ loc: toLocation(index, begins), message });
      },
    };
  },
};

/** Returns the text with the paths of imports blank: they repeat a name that its own file answers for. */
const maskImports = (text: string): string =>
  text.replaceAll(/(?<=from )'[^']*'/g, (path) => ' '.repeat(path.length));

const listLineStarts = (lines: readonly string[]): number[] => {
  let next = 0;
  return lines.map((line) => (next += line.length + 1) - line.length - 1);
};

function toLocation(index: number, begins: readonly number[]): Location {
  const line = begins.findLastIndex((begin) => begin <= index);
  const column = index - (begins[line] ?? 0);
  return { start: { line: line + 1, column }, end: { line: line + 1, column: column + 1 } };
}
