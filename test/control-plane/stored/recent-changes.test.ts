import { expect, test } from 'vitest';
import { RecentChanges } from '../../../src/control-plane/stored/recent-changes.ts';
import { newDeployment } from '../../kit/objects.ts';

const gone = newDeployment('space', { metadata: { name: 'gone' }, image: 'agent:1' });

test('each deployment is named once, in the order of its last change', () => {
  const changes = new RecentChanges();
  for (const uid of ['a', 'b', 'a', 'c']) changes.note({ uid });
  expect(changes.listSince(0)).toEqual({
    changes: [{ uid: 'b' }, { uid: 'a' }, { uid: 'c' }],
    at: 4,
  });
  expect(changes.listSince(3)).toEqual({ changes: [{ uid: 'c' }], at: 4 });
  expect(changes.listSince(4)).toEqual({ changes: [], at: 4 });
});

test('a deleted deployment stays gone when its revisions go after it', () => {
  const changes = new RecentChanges();
  changes.note({ uid: 'a' });
  changes.note({ uid: 'a', gone });
  changes.note({ uid: 'a' });
  expect(changes.listSince(0)?.changes).toEqual([{ uid: 'a', gone }]);
});

test('places that are forgotten, and places that nobody was given, have no changes', () => {
  const changes = new RecentChanges(2);
  for (const uid of ['a', 'b', 'c', 'd']) changes.note({ uid });
  expect(changes.listSince(1)).toBeUndefined();
  expect(changes.listSince(2)).toEqual({ changes: [{ uid: 'c' }, { uid: 'd' }], at: 4 });
  expect(changes.listSince(5)).toBeUndefined();
  expect(changes.listSince(-1)).toBeUndefined();
  const { at } = changes;
  changes.clear();
  expect(changes.listSince(at)).toBeUndefined();
  expect(changes.listSince(changes.at)).toEqual({ changes: [], at: changes.at });
});

test('the place of the last change of a deployment is known until it is gone', () => {
  const changes = new RecentChanges();
  changes.note({ uid: 'a' });
  changes.note({ uid: 'b' });
  expect([changes.getLastPlace('a'), changes.getLastPlace('b'), changes.getLastPlace('c')]).toEqual(
    [1, 2, 0],
  );
  changes.note({ uid: 'a', gone });
  expect(changes.getLastPlace('a')).toBe(0);
});
