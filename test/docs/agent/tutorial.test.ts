import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { readBlocks } from '../blocks/read.ts';

/* The tutorial's files in a project of `gx new`: its test passes, and its client gets its answer. */

const PAGE = 'docs/tutorial.md';
const page = readFileSync(PAGE, 'utf8');

let folder: string;
let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  mkdirSync('.run', { recursive: true });
  folder = mkdtempSync(resolve('.run/tutorial-'));
  cpSync('examples/new', folder, { recursive: true });
  for (const { language, text } of readBlocks([PAGE])) if (language === 'ts') save(text);
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: join(folder, 'gx.json') });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Saves a block under the name in its first line. The one of model.ts replaces a function of that file. */
function save(block: string): void {
  const [, name = ''] = /^\/\/ (\S+)\n/.exec(block) ?? [];
  const file = join(folder, name);
  if (name !== 'model.ts') return writeFileSync(file, block);
  const before = readFileSync(file, 'utf8');
  const after = before.replace(/^function reply\([^]*?^\}$/m, () => block);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
}

const runFile = async (...args: string[]): Promise<string> => {
  const env = { PATH: process.env.PATH, AGENT_URL: agent.url, AGENT_KEY: 'any' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  return stdout;
};

test('the test passes, and the client prints what the page says', async () => {
  expect(await runFile('--test', 'agent.test.ts')).toContain('pass 1');
  expect(page).toContain('It prints `Your order is on its way.`');
  expect(await runFile('ask.mjs')).toBe('Your order is on its way.\n');
});

test('the change is one of a word in two files, after which the test passes', async () => {
  const [, after = '', before = ''] = /write `(.*?)` instead of `(.*?)`/.exec(page) ?? [];
  expect(after).not.toBe('');
  const change = (name: string): void => {
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    expect(text.split(before)).toHaveLength(2);
    writeFileSync(file, text.replace(before, after));
  };
  change('tools.ts');
  await expect(runFile('--test', 'agent.test.ts')).rejects.toThrow(/Command failed/);
  change('agent.test.ts');
  expect(await runFile('--test', 'agent.test.ts')).toContain('pass 1');
});
