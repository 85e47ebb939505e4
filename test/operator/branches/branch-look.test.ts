import { expect, test } from 'vitest';
import { BranchFollower } from '../../../src/operator/branches/branch-follower.ts';
import {
  chooseLooks,
  type BranchFound,
  type Follower,
  type WaitingLook,
} from '../../../src/operator/branches/branch-look.ts';
import { silentLog } from '../../kit/log.ts';
import { until } from '../../kit/until.ts';

/* Which branches are looked at, and when. */

const BOUNDS = { perTenant: 2, perHost: 3 };
const waits = (tenant: string, host: string, at: number): WaitingLook => {
  const key = `${tenant}/${at}`;
  return { key, uid: key, subject: 'main', push: undefined, tenant, host, every: 10 };
};
const begun = (waiting: WaitingLook[], underWay: WaitingLook[] = []): string[] =>
  chooseLooks(waiting, underWay, BOUNDS).map(({ key }) => key);

test('a tenant has few places, and so have the hosts that several tenants share', () => {
  const many = [1, 2, 3].flatMap((at) => [
    waits('a', 'slow', at),
    waits('b', 'slow', at),
    waits('c', 'other', at),
  ]);
  expect(begun(many)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'c/2']);
  expect(
    begun(
      [waits('a', 'other', 9), waits('b', 'slow', 9)],
      [waits('a', 'slow', 1), waits('a', 'slow', 2)],
    ),
  ).toEqual(['b/9']);
});

/** Follows these deployments, each every hour, until the test has seen enough. */
function followed(answers: (key: string) => Promise<BranchFound>) {
  const followers = new Map<string, Follower>();
  const asked: string[] = [];
  const woken: string[] = [];
  const follower = new BranchFollower({
    followers: () => [...followers.values()],
    placeOf: (key) => ({ tenant: key.split('/')[0] ?? '', host: 'git', every: 3600 }),
    ask: (key) => {
      asked.push(key);
      return answers(key);
    },
    wake: (key) => woken.push(key),
    log: silentLog(),
    bounds: BOUNDS,
  });
  const end = new AbortController();
  const set = (key: string, more: Partial<Follower> = {}): void => {
    followers.set(key, { key, uid: key, subject: 'main', push: undefined, ...more });
    follower.searchNow();
  };
  return {
    follower,
    asked,
    woken,
    set,
    run: () => follower.run(end.signal),
    end: () => end.abort(),
  };
}

test('a branch is looked at once, again at a push event and for another branch, and wakes its deployment each time', async () => {
  const { follower, asked, woken, set, run, end } = followed(async () => ({ head: 'abc' }));
  const running = run();
  set('a/1');
  await until('it is looked at', () => woken.length === 1);
  expect(follower.look('a/1')).toEqual({
    subject: 'main',
    push: undefined,
    found: { head: 'abc' },
  });
  set('a/1');
  set('a/1', { push: 'one' });
  await until('it is looked at for the event', () => woken.length === 2);
  set('a/1', { push: 'one' });
  set('a/1', { subject: 'dev' });
  await until('the other branch is looked at', () => follower.look('a/1')?.subject === 'dev');
  end();
  await running;
  expect([asked.length, woken.length]).toEqual([3, 3]);
});

test('an answer that never comes holds up no other tenant, and one that comes makes room', async () => {
  let free: ((found: BranchFound) => void) | undefined;
  const { asked, set, run, end } = followed((key) =>
    key.startsWith('a/')
      ? new Promise((resolve) => (free = resolve))
      : Promise.resolve({ head: 'abc' }),
  );
  for (const at of [1, 2, 3]) set(`a/${at}`);
  set('b/1');
  const running = run();
  await until('the other is looked at', () => asked.includes('b/1'));
  expect(asked).toEqual(['a/1', 'a/2', 'b/1']);
  free?.({ head: 'abc' });
  await until('the third is asked', () => asked.includes('a/3'));
  end();
  await running;
});
