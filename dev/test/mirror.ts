import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { program, say } from '../steps.ts';

/*
 * The test tree is the source tree: every folder of sources has tests in the folder of the same path, or below the named one,
 * and a test that bears a source's name stands where that source is.
 */

/** Folders that are proven through the folder that uses them. */
const PROVEN_BY: Record<string, string> = {
  'src/agent/queue': 'test/agent/wire',
  'src/agent/routes': 'test/agent/wire',
  'src/agent/threads': 'test/agent/wire',
  'src/operator/deployment/objects': 'test/operator/deployment',
  'src/operator/revision/objects': 'test/operator/revision',
  'src/operator/secrets': 'test/operator',
};

const tests = globSync('test/**/*.test.ts');

const hasCode = (file: string): boolean => /^export (const|function|async function|class) /m.test(readFileSync(file, 'utf8'));

const isTested = (folder: string): boolean => {
  const mirror = PROVEN_BY[folder] ?? folder.replace(/^src/, 'test');
  return tests.some((test) => dirname(test) === mirror);
};

/** A test named like a source of another folder is a test that was left behind when the source moved. */
function leftBehind(test: string): string[] {
  const source = test.replace(/^test/, 'src').replace(/\.test\.ts$/, '.ts');
  const folder = dirname(source);
  if (existsSync(source) || !existsSync(folder)) return [];
  const name = source.split('/').at(-1);
  const elsewhere = globSync(`src/${folder.split('/')[1] ?? ''}/**/${name}`);
  return elsewhere.length === 0 ? [] : [`${test} proves ${elsewhere.join(', ')}: move it there`];
}

async function main(): Promise<void> {
  const folders = [...new Set(globSync('src/**/*.ts').filter(hasCode).map(dirname))].toSorted();
  const bare = folders.filter((folder) => !isTested(folder)).map((folder) => `${folder} has no test`);
  const faults = [...bare, ...tests.flatMap(leftBehind)];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  say(`${folders.length} folders of sources, ${tests.length} test files`);
}

await program(main);
