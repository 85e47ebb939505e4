import { expect, test } from 'vitest';
import { ArchiveLags } from '../../../src/operator/scale/reported-work.ts';

test('the lag of a log is passed on at each report, and once when nothing is known of it any more', () => {
  const lags = new Map<string, number | undefined>([
    ['team/chat', 4],
    ['team/dumped', undefined],
  ]);
  const heard: [string, number | undefined][] = [];
  const follower = new ArchiveLags(
    (deployment) => lags.get(deployment),
    (...one) => heard.push(one),
  );
  follower.reportLags(['team/chat', 'team/dumped']);
  lags.set('team/chat', 34);
  follower.reportLags(['team/chat']);
  lags.delete('team/chat');
  follower.reportLags([]);
  follower.reportLags([]);
  expect(heard).toEqual([
    ['team/chat', 4],
    ['team/chat', 34],
    ['team/chat', undefined],
  ]);
});
