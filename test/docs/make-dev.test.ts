import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/* The first command of the README is typed in a clone, which has nothing that was built. */

const planned = (...args: string[]): string =>
  execFileSync('make', ['--dry-run', ...args, 'dev'], { encoding: 'utf8' });

test.each([
  ['is not there, as in a clone', '--always-make'],
  ['is older than its sources', '--what-if=src/console/page/studio/chat/chat.tsx'],
])('make dev builds the page of the studio before it serves it, where it %s', (_, given) => {
  expect(planned(given)).toMatch(/node dev\/console\/build\.ts[\s\S]*npm run --silent dev/);
});
