import { expect, test } from 'vitest';
import { toFilterPatterns } from '../../../src/agent/auth/filter.ts';
import { Problem } from '../../../src/errors.ts';

/* A handler's filter becomes what metadata has to contain. */

test.each([
  ['an empty one lets everything through', {}, [{}]],
  ['a plain value', { owner: 'ann' }, [{ owner: 'ann' }]],
  ['$eq is the same', { owner: { $eq: 'ann' } }, [{ owner: 'ann' }]],
  [
    'several fields must all be there',
    { owner: 'ann', open: true },
    [{ owner: 'ann', open: true }],
  ],
  ['$contains one', { team: { $contains: 'red' } }, [{ team: ['red'] }]],
  [
    '$contains several: all of them',
    { team: { $contains: ['red', 'blue'] } },
    [{ team: ['red', 'blue'] }],
  ],
  [
    '$or: one of the groups',
    { $or: [{ owner: 'ann' }, { open: true }] },
    [{ owner: 'ann' }, { open: true }],
  ],
  [
    '$and: all of the groups',
    { $and: [{ owner: 'ann' }, { open: true }] },
    [{ owner: 'ann', open: true }],
  ],
  [
    'a field beside $or',
    { kind: 'chat', $or: [{ owner: 'ann' }, { open: true }] },
    [
      { kind: 'chat', owner: 'ann' },
      { kind: 'chat', open: true },
    ],
  ],
  [
    '$or within $and',
    { $and: [{ $or: [{ a: 1 }, { b: 2 }] }, { c: 3 }] },
    [
      { a: 1, c: 3 },
      { b: 2, c: 3 },
    ],
  ],
  [
    'two different values of one field: nothing',
    { $and: [{ owner: 'ann' }, { owner: 'bob' }] },
    [],
  ],
  [
    'a value and a list of one field: nothing',
    { $and: [{ team: 'red' }, { team: { $contains: 'red' } }] },
    [],
  ],
  [
    'two lists of one field: both',
    { $and: [{ team: { $contains: 'red' } }, { team: { $contains: 'blue' } }] },
    [{ team: ['red', 'blue'] }],
  ],
  ['null is a value', { owner: null }, [{ owner: null }]],
])('%s', (_what, filter, patterns) => {
  expect(toFilterPatterns(filter)).toEqual(patterns);
});

const deep = { $or: [{ $or: [{ $or: [{ a: 1 }, { a: 2 }] }, { a: 3 }] }, { a: 4 }] };
const many = Array.from({ length: 15 }, (_, at) => ({ a: at }));

test.each([
  ['a text', 'owner', 'must be an object'],
  ['a list', [{ owner: 'ann' }], 'must be an object'],
  ['$or that is no list', { $or: { owner: 'ann' } }, '$or must be a list of at least two'],
  ['$and of one', { $and: [{ owner: 'ann' }] }, '$and must be a list of at least two'],
  ['$or of twenty-one', { $or: Array.from({ length: 21 }, () => ({})) }, 'at most 20'],
  ['three levels', deep, 'not be nested deeper than 2'],
  [
    'too many combinations',
    { $and: [{ $or: many }, { $or: many.map(({ a }) => ({ b: a })) }] },
    'at most 200',
  ],
  ['an unknown operator', { owner: { $ne: 'ann' } }, 'owner.$ne is none of $eq, $contains'],
  ['an operator in the place of a field', { $eq: 'ann' }, '$eq is none of $or, $and'],
  ['an object without operators', { owner: {} }, 'owner must have $eq or $contains'],
  ['an object as a value', { owner: { $eq: { name: 'ann' } } }, 'owner must be compared with'],
])('%s is refused as a fault of the handler', (_what, filter, words) => {
  let thrown: unknown;
  try {
    toFilterPatterns(filter);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(Problem);
  expect((thrown as Problem).status).toBe(500);
  expect((thrown as Problem).message).toContain(words);
});
