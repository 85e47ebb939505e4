import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readAgentConfig, NOT_SERVED } from '../../src/config/agent/agent.ts';
import { GxJson, PASSED_OVER } from '../../src/schema/agent/gx-json.ts';

/* The table of names is what the code does with them. */

const page = readFileSync('docs/reference/configuration-names.md', 'utf8');
const rows = [
  ...page.matchAll(
    /^\| `([^`]+)` \| (variable|gx\.json) \| (served|no effect|refused) \| (.*) \|$/gm,
  ),
].map(([, name = '', of, here, text]) => ({ name, of, here, text }));
const named = (of: string, here?: string): string[] =>
  rows
    .filter((row) => row.of === of && (here === undefined || row.here === here))
    .map(({ name }) => name);

const SEED = [
  'GX_AES_JSON_KEYS',
  'GX_SERVER_PORT',
  'GX_SERVER_HOST',
  'GX_CONTROL_PLANE_API_KEY',
  'SELF_HOSTED_LOGS_ENABLED',
  'SELF_HOSTED_LOGS_ENDPOINT',
];
const SEED_TOO = [
  'MOUNT_PREFIX',
  'FF_USE_CORE_API',
  'FF_RICH_THREADS',
  'POSTGRES_URI_CUSTOM',
  'LANGSERVE_GRAPHS',
];
const SEED_KEYS = [
  'http.configurable_headers',
  'http.enable_custom_route_auth',
  'http.middleware_order',
  'http.disable_a2a',
  'checkpointer.serde.allowed_json_modules',
];

test('each name stands there once, with a word on what it does', () => {
  const names = rows.map(({ of, name }) => `${of} ${name}`);
  expect(names.length).toBe(new Set(names).size);
  expect(rows.length).toBe(page.match(/^\| `/gm)?.length);
  expect(rows.filter(({ text }) => text?.trim() === '')).toEqual([]);
  expect([...SEED, ...SEED_TOO].filter((name) => !named('variable').includes(name))).toEqual([]);
  expect(SEED_KEYS.filter((name) => !named('gx.json').includes(name))).toEqual([]);
});

describe('variables', () => {
  test('that are refused are those of the code', () => {
    const refused = NOT_SERVED.flatMap(({ names }) => names);
    expect(named('variable', 'refused').toSorted()).toEqual(refused.toSorted());
  });

  const noEffect = named('variable', 'no effect');

  test('that are served are read by name, and those without an effect are not', () => {
    const sources = globSync('src/config/**/*.ts').filter(
      (file) => !file.endsWith('not-served.ts'),
    );
    expect(noEffect.length).toBeGreaterThan(20);
    const read = new Set(
      sources.flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(/'([A-Z][A-Z0-9_]+)'/g)].map(([, name]) => name),
      ),
    );
    expect(named('variable', 'served').filter((name) => !read.has(name))).toEqual([]);
    expect(noEffect.filter((name) => read.has(name))).toEqual([]);
  });

  test('without an effect may have any value', () => {
    const env = Object.fromEntries(noEffect.map((name) => [name, 'anything, at all']));
    expect(readAgentConfig({ DATABASE_URI: 'postgresql://x', ...env })).toEqual(
      readAgentConfig({ DATABASE_URI: 'postgresql://x' }),
    );
  });

  test.each(NOT_SERVED.flatMap(({ names }) => names))(
    '%s stops a start that asks for it, by its name',
    (name) => {
      expect(() => readAgentConfig({ DATABASE_URI: 'postgresql://x', [name]: 'true' })).toThrow(
        `${name} can't be honoured`,
      );
    },
  );
});

describe('keys of gx.json', () => {
  /** The keys of a section of which each has a meaning of its own; the others are told as a whole. */
  const SECTIONS = ['auth', 'http', 'store', 'checkpointer'] as const;
  const keysOf = (schema: unknown): string[] =>
    Object.keys((schema as { properties: object }).properties);
  const serde = keysOf(GxJson.properties.checkpointer.properties.serde).map(
    (key) => `checkpointer.serde.${key}`,
  );
  const keys = keysOf(GxJson).flatMap((key) => {
    const section = SECTIONS.find((one) => one === key);
    const inner =
      section === undefined
        ? [key]
        : keysOf(GxJson.properties[section]).map((name) => `${section}.${name}`);
    return inner.flatMap((name) => (name === 'checkpointer.serde' ? serde : [name]));
  });

  test('all stand there, and no others', () => {
    expect(named('gx.json').toSorted()).toEqual(keys.toSorted());
  });

  test('what becomes of them is what the code does', () => {
    expect(named('gx.json', 'refused')).toEqual([]);
    expect(named('gx.json', 'no effect').toSorted()).toEqual(Object.keys(PASSED_OVER).toSorted());
  });
});
