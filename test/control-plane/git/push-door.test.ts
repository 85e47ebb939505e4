import { expect, test } from 'vitest';
import { PushDoor } from '../../../src/control-plane/git/push-door.ts';

type Plane = ConstructorParameters<typeof PushDoor>[0];

/** Returns a door for these integrations, which may change. */
const doorFor = (ids: string[]): PushDoor => new PushDoor({ integrations: { all: () => ids.map((id) => ({ id })) } } as unknown as Plane);

test('an event for no deployment is remembered without the megabytes that its sender may have named it by', () => {
  const door = doorFor(['one']);
  door.noteUnmatched('one', { repository: 'r'.repeat(5_000_000), branch: 'b'.repeat(5_000_000), at: new Date() });
  const { repository, branch } = door.lastUnmatched('one')!;
  expect([repository.length, branch.length].every((length) => length < 310)).toBe(true);
});

test('nothing is remembered of an integration that is gone', () => {
  const ids = ['one', 'two'];
  const door = doorFor(ids);
  const push = { repository: 'acme/agent', branch: 'main', at: new Date() };
  door.noteUnmatched('one', push);
  ids.shift();
  door.noteUnmatched('two', push);
  expect([door.lastUnmatched('one'), door.lastUnmatched('two')]).toEqual([undefined, push]);
});
