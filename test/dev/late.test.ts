import { expect, test } from 'vitest';
import { isHealthyInTime } from '../../dev/cluster/late.ts';

test('a cluster that answers late is not made again', async () => {
  const reported: string[] = [];
  const answers = [false, false, true];
  const options = { name: 'busy', report: (line: string) => void reported.push(line) };
  expect(await isHealthyInTime(options, async () => answers.shift() ?? true)).toBe(true);
  expect(reported).toEqual([
    'cluster busy exists and does not answer; waiting up to 60 s before it is made again',
  ]);
});
