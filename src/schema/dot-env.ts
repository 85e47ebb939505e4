/*
 * Files of NAME=value lines. Two libraries read them, and the same words mean other values to them: python-dotenv in
 * projects of Python, and dotenv in those of JavaScript. `test/python/dot-env.test.ts` compares with both.
 */

export type DotEnvLine = { name: string; value: string; line: number };

/** The variables of a file in its order, a name as often as it is there, and the lines that are none. */
export type DotEnvFile = { variables: DotEnvLine[]; faulty: number[] };

/** Returns the value of a variable that the text does not name before. `otherwise` stands in the text for none. */
type Lookup = (name: string, otherwise: string | undefined) => string | undefined;

/** Returns the last value of each name. */
export const toEnvRecord = ({ variables }: DotEnvFile): Record<string, string> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

/** Space as Python understands it; JavaScript counts other characters. */
const SPACE = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
/** The same within a line. */
const GAP = `[${SPACE.replace(String.raw`\t-\r`, String.raw`\t\x0b\x0c`)}]`;

const buildTokenPattern = (source: string): RegExp => new RegExp(source, 'y');
const PYTHON = {
  blank: buildTokenPattern(`[${SPACE}]*`),
  exported: buildTokenPattern(`export${GAP}+`),
  quotedName: buildTokenPattern(`'([^']+)'`),
  name: buildTokenPattern(`([^=#${SPACE}]+)`),
  gap: buildTokenPattern(`${GAP}*`),
  equals: buildTokenPattern(`=(${GAP}*)`),
  single: buildTokenPattern(String.raw`'((?:\\[\s\S]|[^'\\])*)'`),
  double: buildTokenPattern(String.raw`"((?:\\[\s\S]|[^"\\])*)"`),
  plain: buildTokenPattern(String.raw`([^\r\n]*)`),
  comment: buildTokenPattern(String.raw`${GAP}*#[^\r\n]*`),
  end: buildTokenPattern(String.raw`${GAP}*(?:\r\n|\n|\r|$)`),
  rest: buildTokenPattern(String.raw`[^\r\n]*(?:\r\n|\n|\r)?`),
};
const COMMENT_BEHIND = new RegExp(`[${SPACE}]+#[^\\n]*`);
const SPACE_AT_END = new RegExp(`[${SPACE}]+$`);
const CONTROL: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** A place in a text, at which tokens are tried. */
class Reader {
  at = 0;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Passes over the token here, and returns its part in brackets; undefined where it is not here. */
  take(wanted: RegExp): string | undefined {
    wanted.lastIndex = this.at;
    const found = wanted.exec(this.text);
    if (found === null) return undefined;
    this.at = wanted.lastIndex;
    return found[1] ?? '';
  }

  get next(): string {
    return this.text.charAt(this.at);
  }

  get line(): number {
    return this.text.slice(0, this.at).split('\n').length;
  }
}

/**
 * Reads a file as python-dotenv does: a `#` begins a comment only behind a space, and `${NAME}` or `${NAME:-default}`
 * stands for another value, of the file before those of its surroundings.
 */
export function readDotEnvOfPython(text: string, lookup: Lookup): DotEnvFile {
  const reader = new Reader(text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n'));
  const found: DotEnvFile = { variables: [], faulty: [] };
  const declared = new Map<string, string | undefined>();
  while (reader.at < reader.text.length) {
    reader.take(PYTHON.blank);
    if (reader.next === '') break;
    const { line } = reader;
    const binding = parseBinding(reader);
    if (binding === undefined) {
      reader.take(PYTHON.rest);
      found.faulty.push(line);
      continue;
    }
    const { name, raw } = binding;
    if (name === undefined) continue;
    const value =
      raw === undefined
        ? undefined
        : expandReferences(raw, (other, otherwise) =>
            declared.has(other) ? (declared.get(other) ?? '') : lookup(other, otherwise),
          );
    declared.set(name, value);
    // A later line without a value takes it back.
    if (value === undefined) found.variables = found.variables.filter((one) => one.name !== name);
    else found.variables.push({ name, value, line });
  }
  return found;
}

/** `name` is undefined for a comment, `raw` where the line has no value. */
type Binding = { name: string | undefined; raw: string | undefined };

/** Returns the name and the value of a line; undefined where it is none of the format. */
function parseBinding(reader: Reader): Binding | undefined {
  reader.take(PYTHON.exported);
  const isComment = reader.next === '#';
  const name = isComment
    ? undefined
    : reader.take(reader.next === "'" ? PYTHON.quotedName : PYTHON.name);
  if (name === undefined && !isComment) return undefined;
  reader.take(PYTHON.gap);
  const gap = reader.take(PYTHON.equals);
  const raw = gap === undefined ? undefined : parseRawValue(reader, gap);
  if (gap !== undefined && raw === undefined) return undefined;
  reader.take(PYTHON.comment);
  return reader.take(PYTHON.end) === undefined ? undefined : { name, raw };
}

function parseRawValue(reader: Reader, gap: string): string | undefined {
  if (gap !== '' && reader.next === '#') return '';
  if (reader.next === "'") return reader.take(PYTHON.single)?.replaceAll(/\\([\\'])/g, '$1');
  if (reader.next === '"')
    return reader
      .take(PYTHON.double)
      ?.replaceAll(/\\([\\'"abfnrtv])/g, (_, letter: string) => CONTROL[letter] ?? letter);
  return reader.take(PYTHON.plain)?.replace(COMMENT_BEHIND, '').replace(SPACE_AT_END, '');
}

const expandReferences = (value: string, lookup: Lookup): string =>
  value.replaceAll(
    /\$\{([^}:]*)(?::-([^}]*))?\}/g,
    (_, name: string, otherwise?: string) => lookup(name, otherwise) ?? otherwise ?? '',
  );

const buildQuotedPattern = (mark: string): string =>
  String.raw`\s*${mark}(?:\\${mark}|[^${mark}])*${mark}`;
const JAVASCRIPT_VALUE = [
  buildQuotedPattern("'"),
  buildQuotedPattern('"'),
  buildQuotedPattern('`'),
  String.raw`[^#\r\n]+`,
].join('|');
const JAVASCRIPT_LINE = String.raw`^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(${JAVASCRIPT_VALUE})?\s*(?:#.*)?$`;

/** Reads a file as dotenv of npm does: a `#` begins a comment wherever it is, unless it is in quotes. */
export function readDotEnvOfJavascript(text: string): DotEnvFile {
  const lines = text.replaceAll(/\r\n?/g, '\n');
  const computeLineNumber = (at: number): number => lines.slice(0, at).split('\n').length;
  const found: DotEnvFile = { variables: [], faulty: [] };
  let read = 0;
  const passOver = (to: number): void => {
    const first = computeLineNumber(read);
    for (const [at, each] of lines.slice(read, to).split('\n').entries())
      if (/^\s*[^\s#]/.test(each)) found.faulty.push(first + at);
  };
  for (const match of lines.matchAll(new RegExp(JAVASCRIPT_LINE, 'gm'))) {
    const [whole, name = '', raw = ''] = match;
    passOver(match.index);
    read = match.index + whole.length;
    const trimmed = raw.trim();
    const value = trimmed.replaceAll(/^(['"`])([\s\S]*)\1$/gm, '$2');
    const isDouble = trimmed.startsWith('"');
    const line = computeLineNumber(match.index + whole.length - whole.trimStart().length);
    found.variables.push({
      name,
      value: isDouble
        ? value.replaceAll(String.raw`\n`, '\n').replaceAll(String.raw`\r`, '\r')
        : value,
      line,
    });
  }
  passOver(lines.length);
  return found;
}
