import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readGxContent } from '../../src/config/agent/gx-json-file.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'gx-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [
    'gx.json',
    `There is no gx.json or langgraph.json in ${folder}. Run "gx new" to write an agent, or name the file with --config or GX_CONFIG.`,
  ],
  [
    'other.json',
    `There is no file ${folder}/other.json: name another file with --config or GX_CONFIG.`,
  ],
  ['folder', `${folder}/folder is a folder: name another file with --config or GX_CONFIG.`],
])('%s is not there to be read', (name, sentence) => {
  mkdirSync(path.join(folder, 'folder'), { recursive: true });
  expect(() => readGxContent(path.join(folder, name))).toThrow(sentence);
});
