import { globSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';

/* The published JSON Schema of gx.json, as an editor uses it. */

const read = (file: string): object => JSON.parse(readFileSync(file, 'utf8')) as object;
const check = new Ajv({ strict: false }).compile(read('schemas/gx.schema.json'));

test('every gx.json of the examples fulfils it', () => {
  const files = globSync('examples/*/gx.json');
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => !check({ $schema: './gx.schema.json', ...read(file) }))).toEqual(
    [],
  );
});

test.each([
  ['an unknown key', { colour: 1 }],
  ['a graph without an export', { graphs: { a: './a.ts' } }],
  ['an unknown key within a section', { http: { colour: 1 } }],
])('%s is no part of it', (_, part) => {
  expect(check({ graphs: { a: './a.ts:graph' }, ...part })).toBe(false);
});

test('a key that other builds read says what to do instead', () => {
  expect(readFileSync('schemas/gx.schema.json', 'utf8')).toContain(
    'Has no effect: write it in the Dockerfile',
  );
});
