/* The parts of a text in Markdown, as agents write it: of GitHub's kind, without HTML, references and footnotes. */

export type Block =
  | { kind: 'paragraph'; text: string }
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; blocks: Block[] }
  /** `first`: the number of the first item; undefined where the items have none. */
  | { kind: 'list'; first: number | undefined; items: ListItem[] }
  | { kind: 'table'; head: string[]; sides: CellSide[]; rows: string[][] }
  | { kind: 'rule' };

/** An item of a list. `done`: whether its box is ticked; undefined where it has none. */
export type ListItem = { blocks: Block[]; done: boolean | undefined };

export type CellSide = 'left' | 'right' | 'center';

/** Parts that stand deeper within lists and quotes are text. */
const DEEPEST = 8;
const MOST_COLUMNS = 40;

const FENCE = /^ {0,3}(`{3,}|~{3,}) *([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +|$)/;
const INDENTED = /^ {4}/;

/** Returns the parts of a text. One that is still being written may end anywhere. */
export const parseBlocks = (text: string): Block[] =>
  parseLines(
    text.split(/\r?\n/).map((line) => line.replace(/^[ \t]+/, (blank) => expandTabs(blank))),
    0,
  );

const expandTabs = (blank: string): string => blank.replaceAll('\t', '    ');
const isEmpty = (line: string): boolean => line.trim() === '';
const measureIndent = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;

/** A part, and the number of the line behind it. */
type Taken = { block: Block; next: number };

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isEmpty(lines[at] ?? '')) {
      at += 1;
      continue;
    }
    const { block, next } = takeBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

function takeBlock(lines: readonly string[], at: number, depth: number): Taken {
  const line = lines[at] ?? '';
  const [, fence, language = ''] = FENCE.exec(line) ?? [];
  if (fence !== undefined) return takeFenced(lines, at, { fence, language });
  const [, signs] = HEADING.exec(line) ?? [];
  if (signs !== undefined) {
    const text = line.trim().slice(signs.length).trim().replace(/\s#+$/, '');
    return { block: { kind: 'heading', level: signs.length, text }, next: at + 1 };
  }
  if (RULE.test(line)) return { block: { kind: 'rule' }, next: at + 1 };
  if (QUOTE.test(line) && depth < DEEPEST) return takeQuote(lines, at, depth);
  if (ITEM.test(line) && depth < DEEPEST) return takeList(lines, at, depth);
  if (INDENTED.test(line) && depth < DEEPEST) return takeIndented(lines, at);
  return takeTable(lines, at) ?? takeParagraph(lines, at);
}

/** Takes code between fences. Without the closing one, as while it is written, all that follows is code. */
function takeFenced(
  lines: readonly string[],
  at: number,
  { fence, language }: { fence: string; language: string },
): Taken {
  const indent = measureIndent(lines[at] ?? '');
  const isEnd = (line: string): boolean => {
    const text = line.trim();
    return text.length >= fence.length && text === fence.charAt(0).repeat(text.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? '')) end += 1;
  const code = lines
    .slice(at + 1, end)
    .map((line) => line.slice(Math.min(indent, measureIndent(line))));
  return { block: { kind: 'code', language, text: code.join('\n') }, next: end + 1 };
}

function takeIndented(lines: readonly string[], at: number): Taken {
  let end = at;
  while (end < lines.length && INDENTED.test(lines[end] ?? '')) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.slice(4))
    .join('\n');
  return { block: { kind: 'code', language: '', text }, next: end };
}

function takeQuote(lines: readonly string[], at: number, depth: number): Taken {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? '')) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return { block: { kind: 'quote', blocks: parseLines(inner, depth + 1) }, next: end };
}

/** The indentation that makes a line a part of the item before it, also where its writer counted loosely. */
const WITHIN = 2;

function takeList(lines: readonly string[], at: number, depth: number): Taken {
  const [, , sign = '-'] = ITEM.exec(lines[at] ?? '') ?? [];
  const getKind = (marker: string): string => marker.at(-1) ?? '';
  const items: ListItem[] = [];
  let next = at;
  for (
    let found = ITEM.exec(lines[next] ?? '');
    found !== null && getKind(found[2] ?? '') === getKind(sign) && !RULE.test(lines[next] ?? '');
    found = ITEM.exec(lines[next] ?? '')
  ) {
    const begun = next;
    next = findItemEnd(lines, begun);
    items.push(readItem(lines.slice(begun, next), found[0].length, depth));
    // Blank lines between two items belong to neither.
    const over = findFilled(lines, next);
    if (over < lines.length && ITEM.test(lines[over] ?? '')) next = over;
  }
  const number = Number.parseInt(sign, 10);
  const first = Number.isNaN(number) ? undefined : number;
  return { block: { kind: 'list', first, items }, next };
}

function findFilled(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && isEmpty(lines[at] ?? '')) at += 1;
  return at;
}

/** Returns the number of the line behind an item: the next one that is neither indented nor the rest of its words. */
function findItemEnd(lines: readonly string[], at: number): number {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end] ?? '';
    if (isEmpty(line)) {
      const over = findFilled(lines, end);
      if (over >= lines.length || measureIndent(lines[over] ?? '') < WITHIN) return end;
      end = over;
    } else if (measureIndent(line) < WITHIN && beginsBlock(line)) return end;
    else end += 1;
  }
  return end;
}

function readItem(lines: readonly string[], width: number, depth: number): ListItem {
  const [first = '', ...rest] = lines;
  const begun = first.slice(width);
  const [box, sign] = /^\[([ xX])\] /.exec(begun) ?? [];
  const inner = [
    begun.slice(box?.length ?? 0),
    ...rest.map((line) => line.slice(Math.min(width, measureIndent(line)))),
  ];
  const done = sign === undefined ? undefined : sign !== ' ';
  return { blocks: parseLines(inner, depth + 1), done };
}

const beginsBlock = (line: string): boolean =>
  [FENCE, HEADING, RULE, QUOTE, ITEM].some((one) => one.test(line));

/** A number at the beginning of a line is no list within a paragraph, unless it is the first one. */
const endsParagraph = (line: string): boolean =>
  beginsBlock(line) && !/^ {0,3}(?!1[.)])\d{1,9}[.)]/.test(line);

function takeParagraph(lines: readonly string[], at: number): Taken {
  let end = at + 1;
  while (
    end < lines.length &&
    !isEmpty(lines[end] ?? '') &&
    !endsParagraph(lines[end] ?? '') &&
    !isTableHead(lines, end)
  )
    end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join('\n');
  return { block: { kind: 'paragraph', text }, next: end };
}

/** Returns the cells of a row. A bar behind a backslash is a part of its cell. */
function splitRow(line: string): string[] {
  const cells = line.trim().split(/(?<!\\)\|/);
  if (cells[0] === '') cells.shift();
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function readSides(line: string): CellSide[] | undefined {
  if (!/^[\s|:-]+$/.test(line) || !line.includes('-') || !line.includes('|')) return undefined;
  const cells = splitRow(line);
  if (!cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  return cells.map((cell) => {
    if (!cell.endsWith(':')) return 'left';
    return cell.startsWith(':') ? 'center' : 'right';
  });
}

function isTableHead(lines: readonly string[], at: number): boolean {
  const sides = readSides(lines[at + 1] ?? '');
  const head = lines[at] ?? '';
  return (
    sides !== undefined &&
    head.includes('|') &&
    sides.length <= MOST_COLUMNS &&
    splitRow(head).length === sides.length
  );
}

function takeTable(lines: readonly string[], at: number): Taken | undefined {
  if (!isTableHead(lines, at)) return undefined;
  const head = splitRow(lines[at] ?? '');
  const sides = readSides(lines[at + 1] ?? '') ?? [];
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? '').includes('|')) end += 1;
  const rows = lines.slice(at + 2, end).map((line) => splitRow(line).slice(0, head.length));
  return { block: { kind: 'table', head, sides, rows }, next: end };
}
