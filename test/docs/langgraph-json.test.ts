import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readGraphsFile } from '../../src/agent/gx-json/read.ts';
import { buildPlanOf, type BuildPlan } from '../../src/builder/packages/plan.ts';
import { readImageBuildConfig } from '../../src/config/jobs/image-build.ts';
import { toError } from '../../src/errors.ts';
import { KEYS_OF_OTHERS } from '../../src/schema/agent/gx-json.ts';
import { KEYS_OF_THE_SERVER, LANGGRAPH_KEYS, type LanggraphKey } from './langgraph-keys.ts';

/* The table of langgraph.json is the behaviour of the code with each key of a project in Python. */

const page = readFileSync('docs/reference/langgraph-json.md', 'utf8');
const rows = [
  ...page.matchAll(/^\| (`[^|]+`) \| (served|no effect) \| (served|no effect|-) \| (.+) \|$/gm),
].flatMap(([, names = '', server = '', build = '', how = '']) =>
  [...names.matchAll(/`([^`]+)`/g)].map(([, key = '']) => ({ key, server, build, how })),
);
const KEYS = Object.entries({ ...LANGGRAPH_KEYS, ...KEYS_OF_THE_SERVER });
const rowsOf = (key: string): typeof rows =>
  rows.filter((row) => key === row.key || key.startsWith(`${row.key}.`));

/** A repository that has every file which the values name. */
const work = mkdtempSync(join(tmpdir(), 'gx-langgraph-json-'));
const source = join(work, 'source');
const FILES = [
  'agent.py',
  'agents/other.py',
  'lib/a.py',
  'pip.conf',
  'uv.lock',
  'package.json',
  'ui.tsx',
  'requirements.txt',
];
const printed: string[] = [];
beforeAll(() => {
  for (const name of FILES) {
    mkdirSync(dirname(join(source, name)), { recursive: true });
    writeFileSync(
      join(source, name),
      name === 'package.json' ? '{"dependencies": {"ms": "1"}}' : '',
    );
  }
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => printed.push(String(line)) > 0);
});
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(work, { recursive: true });
});

const merged = (one: unknown, other: unknown): unknown =>
  one !== null && typeof one === 'object' && typeof other === 'object' && !Array.isArray(other)
    ? Object.entries(other as object).reduce(
        (all, [name, value]) => ({
          ...all,
          [name]: merged((one as Record<string, unknown>)[name], value),
        }),
        one,
      )
    : other;

/** Writes a langgraph.json with the value at its key. */
function write(key: string, { value, beside = {} }: LanggraphKey): void {
  const own = key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
  const whole = merged(merged({ graphs: { agent: './agent.py:graph' } }, beside), own);
  writeFileSync(join(source, 'langgraph.json'), JSON.stringify(whole));
}

type Outcome = { word: string; sentence?: string };

function serverOutcome(key: string): Outcome {
  try {
    const { passedOver } = readGraphsFile(join(source, 'gx.json'));
    const own = passedOver.find(({ name }) => key === name || key.startsWith(`${name}.`));
    return own === undefined ? { word: 'served' } : { word: 'no effect', sentence: own.instead };
  } catch (thrown) {
    return { word: 'refused', sentence: toError(thrown).message };
  }
}

function planned(): BuildPlan | string {
  const config = readImageBuildConfig({
    GX_BASE_IMAGE: 'registry.example.com/gx/python:1',
    GX_WORK_FOLDER: work,
  });
  try {
    return buildPlanOf(config, 'sha256:base').plan;
  } catch (thrown) {
    return toError(thrown).message;
  }
}

/** Returns what a build does: what it plans otherwise, or says about it; the server's own faults end it, too. */
function buildOutcome(key: string, server: Outcome): string {
  if (server.word === 'refused') return 'refused';
  printed.length = 0;
  const changed = planned();
  const [top] = key.split('.');
  if (printed.some((line) => line.startsWith(`"${top}" has no effect`))) return 'no effect';
  writeFileSync(
    join(source, 'langgraph.json'),
    JSON.stringify({ graphs: { agent: './agent.py:graph' } }),
  );
  return JSON.stringify(changed) === JSON.stringify(planned()) ? '-' : 'served';
}

/** `agent-build` bundles components; the graphs are its purpose. */
const OF_AGENT_BUILD = ['ui_config', 'graphs'];

/** A word may need a sentence: the replacement, or why it is refused. */
const SENTENCES: Record<string, () => unknown> = {
  served: () => undefined,
  'no effect': () => expect.stringMatching(/.{15}/),
};

test.each(KEYS)('%s is what its row says', (key, sample) => {
  const found = rowsOf(key);
  expect(found).toHaveLength(1);
  const { server: word, build } = found[0]!;
  write(key, sample);
  const server = serverOutcome(key);
  expect(server).toEqual({ word, sentence: SENTENCES[word]?.() });
  expect(OF_AGENT_BUILD.includes(key) ? build : buildOutcome(key, server)).toBe(build);
});

test('no row is about a key that nobody has', () => {
  expect(rows.length).toBeGreaterThan(20);
  expect(
    rows.filter(({ key }) => !KEYS.some(([name]) => name === key || name.startsWith(`${key}.`))),
  ).toEqual([]);
});

test('keys of other tools stand in the second table, with what takes their place', () => {
  const [, second = ''] = page.split('## Unknown keys');
  const named = [...second.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, key]) => String(key)),
  );
  expect(named.toSorted()).toEqual(Object.keys(KEYS_OF_OTHERS).toSorted());
});

test('a key that nobody knows has no effect in a server and in a build, and is named', () => {
  write('kept_tools', { value: true });
  expect(serverOutcome('kept_tools')).toEqual({
    word: 'no effect',
    sentence: 'there is no such key',
  });
  printed.length = 0;
  expect(planned()).toBeTypeOf('object');
  expect(printed.join('')).toContain('"kept_tools" has no effect: there is no such key');
});
