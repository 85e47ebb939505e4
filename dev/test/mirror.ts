import { existsSync, globSync, readFileSync } from 'node:fs';
import { program, say } from '../steps.ts';
import { PROVEN_ELSEWHERE } from './mirror-exceptions.ts';

/* The test tree is the source tree: src/a/b.ts is proven by test/a/b.test.ts, or by the test that the list of exceptions names. */

const hasCode = (file: string): boolean => /^export (const|function|async function|class) /m.test(readFileSync(file, 'utf8'));

async function main(): Promise<void> {
  const sources = globSync('src/**/*.ts').toSorted().filter(hasCode);
  const faults = sources.flatMap((source) => {
    const mirror = source.replace(/^src\//, 'test/').replace(/\.ts$/, '.test.ts');
    const proof = PROVEN_ELSEWHERE[source];
    if (existsSync(mirror)) return proof === undefined ? [] : [`${source} has its own test by now: take it off the list of exceptions`];
    if (proof === undefined) return [`${source} has no ${mirror}, and no other test is named for it`];
    return existsSync(proof) ? [] : [`${source}: ${proof} does not exist`];
  });
  const stale = Object.keys(PROVEN_ELSEWHERE).filter((source) => !sources.includes(source));
  const all = [...faults, ...stale.map((source) => `${source} is on the list of exceptions, but holds no code`)];
  if (all.length > 0) throw new Error(all.join('\n'));
  say(`${sources.length} sources, ${sources.length - Object.keys(PROVEN_ELSEWHERE).length} with a test of their own`);
}

await program(main);
