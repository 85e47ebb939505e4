import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';

/* Node has two copies of LangChain where a graph is in CommonJS and the server is not. */

let folder: string;

beforeAll(() => {
  mkdirSync('.run', { recursive: true });
  folder = mkdtempSync(resolve('.run/own-loader-'));
  writeFileSync(`${folder}/package.json`, '{}');
  const graph = `const { StringPromptValue } = require('@langchain/core/prompt_values');\nexports.isOwn = (value) => value instanceof StringPromptValue;\n`;
  writeFileSync(`${folder}/graph.cjs`, graph);
  const asModule = graph
    .replace('const { StringPromptValue } = require(', 'import { StringPromptValue } from ')
    .replace("');", "';");
  writeFileSync(`${folder}/graph.mjs`, asModule.replace('exports.isOwn =', 'export const isOwn ='));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(['graph.cjs', 'graph.mjs'])(
  'an object of an allowed class is of the class that %s has loaded',
  (name) => {
    // Modules that other tests of this process have loaded would count.
    const program = `
    const { isOwn } = await import('${folder}/${name}');
    const { findLoader } = await import('${resolve('src/agent/graph-thread/checkpoints/own-loader.ts')}');
    const load = await findLoader(['${folder}/${name}']);
    const record = { lc: 1, type: 'constructor', id: ['langchain_core', 'prompt_values', 'StringPromptValue'], kwargs: { value: 'v' } };
    console.log(isOwn(await load(JSON.stringify(record))));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    expect(output.trim()).toBe('true');
  },
);
