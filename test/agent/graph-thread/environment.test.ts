import process from 'node:process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveEnvironment } from '../../../src/agent/graph-thread/environment.ts';

const own = process.env;

beforeEach(() => {
  own['GIVEN'] = 'by the process';
});

afterEach(() => {
  process.env = own;
  for (const name of ['GIVEN', 'ADDED', 'NUMBER']) delete own[name];
});

test('a graph finds the variables of its process, and those of gx.json that the process does not have', () => {
  serveEnvironment({ GIVEN: 'by gx.json', ADDED: 'by gx.json' });
  expect(process.env).toMatchObject({ GIVEN: 'by the process', ADDED: 'by gx.json' });
  expect(process.env['NOBODYS']).toBeUndefined();
  expect('NOBODYS' in process.env).toBe(false);
});

test('what a graph sets or deletes is seen by itself and by the threads that it starts, as text', () => {
  serveEnvironment({});
  (process.env as Record<string, unknown>)['NUMBER'] = 1;
  delete process.env['GIVEN'];
  for (const env of [process.env, own]) {
    expect(env['NUMBER']).toBe('1');
    expect('GIVEN' in env).toBe(false);
  }
});
