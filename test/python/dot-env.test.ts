import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  readDotEnvOfJavascript,
  readDotEnvOfPython,
  toEnvRecord,
} from '../../src/schema/dot-env.ts';
import { UsersProject } from '../kit/users-project.ts';
import { packagesOf } from './tools.ts';

/* Environment files have the values that the projects' own libraries give them. */

const ENVIRONMENT = { Q: 'from the environment', A: 'of the environment' };

/** Texts as people write them. */
const WRITTEN = [
  'A_HASH=pa#ss\nA_BASE=base\nA_VAR=${A_BASE}/x\n',
  'KEY=sk-123 # mine\nKEY2=sk-123\t# mine\nKEY3= # empty\nKEY4=#none\nKEY5=""# behind\n',
  "export A=\"two words\"\nexport  B='it\\'s'\nC=`back \"and\" 'forth'`\n",
  '\uFEFFFIRST=1\r\nSECOND=2\rTHIRD=3\n',
  'PEM="-----BEGIN KEY-----\nabc\n-----END KEY-----"\nNEXT=1',
  'URL=postgresql://u:p@h:5432/d?sslmode=require#x\nJSON={"a": "b # c"}\nOPEN="never closed\nAFTER=1\n',
  'Q=own\nR=${Q}\nS=${NONE:-spare}\nT=${NONE}\nU=$Q\nA\nV=${A:-w}\n',
  "  SPACED  =  value  \nEMPTY=\nNO_VALUE\nDOTTED.name=1\nYAML: value\n'quoted key'=x\n# KEY=comment\n",
  String.raw`ESCAPES="a\nb\tc\\d\"e\$f" SINGLE='a\nb\\c'`,
];

/** Words of the format and around it, of which texts are thrown together. */
const PIECES = [
  'A;B;C_D;x.y;2E;=;=; = ;:;: ; ;\t;#; #;";\';`;\\;\\n;\\";\\\';\\t;\\\\;${A};${B:-spare};${Q:-};${;};$A;export ;export;é'.split(
    ';',
  ),
  ['\n', '\n', '\n', '\r\n', '\r', '\u2028', '\u00A0', '\uFEFF', '\u001C', '\u0085'],
  ['value', 'pa#ss', 'http://a.b/c?d=e#f', 'two words'],
].flat();
const TEXTS = 5000;

function thrownTogether(seed: number): string[] {
  let state = seed;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  return Array.from({ length: TEXTS }, () =>
    Array.from({ length: 1 + below(24) }, () => PIECES[below(PIECES.length)]).join(''),
  );
}

const seed = Date.now() % 2 ** 32;
const texts = [...WRITTEN, ...thrownTogether(seed)];
let javascript: UsersProject;
let programs: string;
beforeAll(async () => {
  javascript = await UsersProject.make('test/agent/ui/graphs', { dotenv: '17.4.2' });
  programs = await packagesOf('test/python/dot-env-requirements.txt');
}, 180_000);
afterAll(() => javascript.remove());

/** Returns the texts that have other values here, with both. */
const differing = (
  here: (text: string) => Record<string, string>,
  there: (at: number) => Record<string, string>,
): unknown[] =>
  texts.flatMap((text, at) => {
    const [ours, theirs] = [sorted(here(text)), sorted(there(at))];
    return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ seed, text, ours, theirs }];
  });
const sorted = (values: Record<string, string>): [string, string][] =>
  Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1));

test('those of a project in Python, by python-dotenv', () => {
  const input = JSON.stringify([ENVIRONMENT, texts]);
  const { stdout, stderr } = spawnSync(join(programs, 'python'), ['test/python/dot-env.py'], {
    input,
    maxBuffer: 2 ** 28,
  });
  expect(String(stderr)).toBe('');
  const theirs = String(stdout)
    .trim()
    .split('\n')
    .map((line) => Object.fromEntries(JSON.parse(line) as [string, string][]));
  const read = (text: string): Record<string, string> =>
    toEnvRecord(readDotEnvOfPython(text, (name) => ENVIRONMENT[name as 'Q']));
  expect(differing(read, (at) => theirs[at]!).slice(0, 3)).toEqual([]);
});

test('those of a project in JavaScript, by dotenv', () => {
  const { parse } = createRequire(javascript.path('package.json'))('dotenv') as {
    parse: (text: string) => Record<string, string>;
  };
  const read = (text: string): Record<string, string> => toEnvRecord(readDotEnvOfJavascript(text));
  expect(differing(read, (at) => parse(texts[at]!)).slice(0, 3)).toEqual([]);
});
