import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

test('migrations are numbered from 1 without a gap, and no two alike: a database keeps the number of the last one', () => {
  const names = readdirSync(
    new URL('../../../../src/agent/db/migrations', import.meta.url),
  ).toSorted();
  expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, at) => at + 1));
});
