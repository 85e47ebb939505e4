import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readDotEnvFile } from '../../../src/agent/dev/run.ts';
import { StartError } from '../../../src/errors.ts';

let folder: string;
let config: string;
const gxJson = (settings: object): void =>
  writeFileSync(config, JSON.stringify({ graphs: { chat: './chat.ts:graph' }, ...settings }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gx-dot-env-'));
  config = join(folder, 'gx.json');
  gxJson({});
});
afterEach(() => rmSync(folder, { recursive: true }));

test('dev reads the .env beside gx.json', () => {
  writeFileSync(join(folder, '.env'), '# of mine\nOPENAI_API_KEY="sk 1"\nexport MODEL=small\n');
  expect(readDotEnvFile(config)).toEqual({ OPENAI_API_KEY: 'sk 1', MODEL: 'small' });
});

test('a project need not have one', () => expect(readDotEnvFile(config)).toEqual({}));

test.each([{ env: {} }, { env: { MODEL: 'large' } }, { env: 'other.env' }])(
  '%j of gx.json counts instead',
  (settings) => {
    writeFileSync(join(folder, '.env'), 'MODEL=small\n');
    writeFileSync(join(folder, 'other.env'), 'MODEL=large\n');
    gxJson(settings);
    expect(readDotEnvFile(config)).toEqual({});
  },
);

test('one that cannot be read is named', () => {
  mkdirSync(join(folder, '.env'));
  expect(() => readDotEnvFile(config)).toThrow(StartError);
  expect(() => readDotEnvFile(config)).toThrow(join(folder, '.env'));
});
