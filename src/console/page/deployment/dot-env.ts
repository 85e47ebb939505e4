/** The variables of a .env file, and the lines that are none. */
export type DotEnv = { variables: { name: string; value: string }[]; faults: string[] };

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*/;
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

/** Reads the text of a .env file. Quoted values may have several lines. The last value of a name counts. */
export function readDotEnv(text: string): DotEnv {
  const found = new Map<string, string>();
  const faults: string[] = [];
  let rest = text.replaceAll('\r\n', '\n');
  for (let line = 1; rest !== '';) {
    const [read, name, value] = firstOf(rest);
    if (name === undefined) faults.push(`Line ${line} is no variable.`);
    else if (name !== '') found.set(name, value);
    line += read.split('\n').length - 1;
    rest = rest.slice(read.length);
  }
  return { variables: [...found].map(([name, value]) => ({ name, value })), faults };
}

/** Returns the text that was read, and the variable. The name is empty for a blank line, undefined for a faulty one. */
function firstOf(text: string): [read: string, name: string | undefined, value: string] {
  const line = /^[^\n]*\n?/.exec(text)?.[0] ?? '';
  if (/^\s*(?:#.*)?\n?$/.test(line)) return [line, '', ''];
  const begin = LINE.exec(line);
  if (begin === null) return [line, undefined, ''];
  const [head, name = ''] = begin;
  const quoted = /^(?:"((?:[^"\\]|\\[\s\S])*)"|'([^']*)')[^\n]*\n?/.exec(text.slice(head.length));
  if (quoted !== null) return [head + quoted[0], name, quoted[2] ?? unescaped(quoted[1] ?? '')];
  return [
    line,
    name,
    line
      .slice(head.length)
      .replace(/\s+#.*$/, '')
      .trim(),
  ];
}

const unescaped = (text: string): string => text.replaceAll(/\\([\s\S])/g, (_, letter: string) => ESCAPES[letter] ?? letter);
