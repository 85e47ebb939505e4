import { expect, test } from 'vitest';
import {
  buildOrder,
  formatOrdinal,
  findPlaceInLine,
  type QueuedBuild,
} from '../../../../src/operator/revision/build/turn.ts';
import { randomFrom } from '../../../kit/random-changes.ts';

const build = (tenant: string, number: number): QueuedBuild => ({
  key: `${tenant}/${number}`,
  tenant,
  since: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
});
const keys = (order: QueuedBuild[]): string => order.map(({ key }) => key).join(' ');

test('tenants take turns, the oldest first, however many builds one of them asked for', () => {
  const many = [1, 2, 3, 4].map((number) => build('a', number));
  expect(keys(buildOrder([...many, build('b', 9)], { running: [] }))).toBe('a/1 b/9 a/2 a/3 a/4');
  expect(keys(buildOrder([...many, build('b', 9)], { running: [{ tenant: 'a' }] }))).toBe(
    'b/9 a/1 a/2 a/3 a/4',
  );
});

test('where one build runs at a time, a tenant whose build has just ended goes behind the others', () => {
  const waiting = [build('a', 2), build('a', 3), build('b', 9)];
  expect(keys(buildOrder(waiting, { running: [], latest: new Map([['a', 1]]) }))).toBe(
    'b/9 a/2 a/3',
  );
  expect(
    keys(
      buildOrder(waiting.slice(0, 2), {
        running: [],
        latest: new Map([
          ['a', 1],
          ['b', 2],
        ]),
      }),
    ),
  ).toBe('a/2 a/3');
});

test('a place in line counts from one, and none is left while there is room', () => {
  const waiting = [build('a', 1), build('a', 2), build('b', 3)];
  const place = (own: QueuedBuild, running: { tenant: string }[]) =>
    findPlaceInLine(own, { waiting, running, each: 2, all: 2 });
  expect(waiting.map((own) => place(own, []))).toEqual([0, 1, 0]);
  expect(waiting.map((own) => place(own, [{ tenant: 'c' }, { tenant: 'c' }]))).toEqual([1, 3, 2]);
  expect([1, 2, 3, 4, 11, 12, 13, 21, 112].map(formatOrdinal)).toEqual([
    '1st',
    '2nd',
    '3rd',
    '4th',
    '11th',
    '12th',
    '13th',
    '21st',
    '112th',
  ]);
});

test("the builds of one tenant never hold all places: another's begins at once, and its place counts none of theirs", () => {
  const crowd = [1, 2, 3, 4].map((since) => build('a', since));
  const single = build('b', 9);
  const running = [{ tenant: 'a' }, { tenant: 'a' }];
  const place = (own: QueuedBuild, others: { tenant: string }[] = running, all = 4) =>
    findPlaceInLine(own, { waiting: [...crowd, single], running: others, each: 2, all });
  expect(place(single)).toBe(0);
  expect(crowd.map((own) => place(own))).toEqual([1, 2, 3, 4]);
  expect(crowd.map((own) => place(own, []))).toEqual([0, 0, 1, 2]);
  // Where all places are taken by many tenants, it waits behind none whose own tenant is full.
  const full = [...running, { tenant: 'c' }, { tenant: 'd' }];
  expect(place(single, full)).toBe(1);
});

test('in a thousand lines everybody has one place, the places that are free are filled, and nobody with fewer builds waits behind', () => {
  const random = randomFrom(21);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  for (let round = 0; round < 1000; round += 1) {
    const tenants = ['a', 'b', 'c', 'd'].slice(0, 1 + upTo(3));
    const pick = (): string => tenants[upTo(tenants.length - 1)]!;
    const waiting = Array.from({ length: upTo(8) }, (_, index) => ({
      ...build(pick(), upTo(5)),
      key: `${index}`,
    }));
    const running = Array.from({ length: upTo(4) }, () => ({ tenant: pick() }));
    const atOnce = 1 + upTo(4);
    const order = buildOrder(waiting, { running });
    expect(order.map(({ key }) => key).toSorted()).toEqual(
      waiting.map(({ key }) => key).toSorted(),
    );
    const places = waiting.map((own) =>
      findPlaceInLine(own, { waiting, running, each: 1000, all: atOnce }),
    );
    const free = Math.max(0, atOnce - running.length);
    expect(places.filter((place) => place === 0)).toHaveLength(Math.min(free, waiting.length));
    expect(places.filter((place) => place > 0).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: Math.max(0, waiting.length - free) }, (_, index) => index + 1),
    );
    const begun = new Map(
      tenants.map((tenant) => [tenant, running.filter((one) => one.tenant === tenant).length]),
    );
    for (const [index, { tenant }] of order.entries()) {
      const others = order.slice(index).map((one) => begun.get(one.tenant)!);
      expect(begun.get(tenant)).toBe(Math.min(...others));
      begun.set(tenant, begun.get(tenant)! + 1);
    }
  }
});
