import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runMain, printLine } from '../../steps.ts';
import { root } from '../list.ts';
import { fetchImageDigest } from './registry.ts';
import { parseBases, addDigests } from './references.ts';

const DOCKERFILE = join(root, 'Dockerfile');

/** Asks for all digests before it writes one, so that the bases are those of one day. */
async function main(): Promise<void> {
  const text = readFileSync(DOCKERFILE, 'utf8');
  const digests = new Map<string, string>();
  for (const { tagged } of parseBases(text)) {
    digests.set(tagged, await fetchImageDigest(tagged));
    printLine(`${tagged} is ${digests.get(tagged)}`);
  }
  const made = addDigests(text, digests);
  if (made === text) return printLine('The Dockerfile has these digests already.');
  writeFileSync(DOCKERFILE, made);
  printLine('The Dockerfile has them now; try it by `docker build`, and commit it.');
}

await runMain(main);
