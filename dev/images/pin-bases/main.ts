import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program, say } from '../../steps.ts';
import { root } from '../list.ts';
import { digestOf } from './registry.ts';
import { basesIn, pinned } from './references.ts';

const DOCKERFILE = join(root, 'Dockerfile');

/** Asks for all digests before it writes one, so that the bases are those of one day. */
async function main(): Promise<void> {
  const text = readFileSync(DOCKERFILE, 'utf8');
  const digests = new Map<string, string>();
  for (const { tagged } of basesIn(text)) {
    digests.set(tagged, await digestOf(tagged));
    say(`${tagged} is ${digests.get(tagged)}`);
  }
  const made = pinned(text, digests);
  if (made === text) return say('The Dockerfile has these digests already.');
  writeFileSync(DOCKERFILE, made);
  say('The Dockerfile has them now; try it by `docker build`, and commit it.');
}

await program(main);
