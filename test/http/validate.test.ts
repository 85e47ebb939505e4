import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { Invalid } from '../../src/errors.ts';
import { createValidator } from '../../src/http/bodies/validate.ts';
import {
  buildFreeFormSchema,
  buildMapSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../src/schema/types.ts';

const Body = Type.Object(
  {
    name: Type.String({ minLength: 2, maxLength: 4, pattern: '^[a-z]+$' }),
    kind: Type.Optional(buildNullableSchema(buildEnumSchema(['a', 'b']))),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 3 })),
    id: Type.Optional(buildUuidSchema('id')),
    tags: Type.Optional(Type.Array(Type.String(), { maxItems: 1 })),
    words: Type.Optional(buildMapSchema(Type.String(), { maxProperties: 1 })),
    free: Type.Optional(buildFreeFormSchema('anything')),
    flag: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

const check = createValidator();
const faults = (
  value: unknown,
  kind: 'body' | 'query' = 'body',
  schema: typeof Body = Body,
): unknown => {
  try {
    check(schema, kind)(value, kind);
    return [];
  } catch (error) {
    return (error as Invalid).fields.map(({ loc, type }) => [loc.join('.'), type]);
  }
};

test.each([
  ['nothing wrong', { name: 'abc', kind: null, free: { any: [1] } }, []],
  ['a required field is missing', {}, [['body.name', 'missing']]],
  ['an unknown field', { name: 'abc', nope: 1 }, [['body.nope', 'extra_forbidden']]],
  ['a wrong type', { name: 1 }, [['body.name', 'string_type']]],
  [
    'a number as text stays a fault in a body',
    { name: 'abc', size: '2' },
    [['body.size', 'integer_type']],
  ],
  ['a text that is too short', { name: 'a' }, [['body.name', 'string_too_short']]],
  ['a text that is too long', { name: 'abcde' }, [['body.name', 'string_too_long']]],
  ['a text that does not match', { name: 'AB' }, [['body.name', 'string_pattern_mismatch']]],
  ['a word that is none of them', { name: 'abc', kind: 'c' }, [['body.kind', 'enum']]],
  ['a number that is too small', { name: 'abc', size: 0 }, [['body.size', 'greater_than_equal']]],
  ['a number that is too great', { name: 'abc', size: 4 }, [['body.size', 'less_than_equal']]],
  ['a fraction', { name: 'abc', size: 1.5 }, [['body.size', 'integer_type']]],
  ['no uuid', { name: 'abc', id: 'x' }, [['body.id', 'uuid_parsing']]],
  ['a fault inside a list', { name: 'abc', tags: [1] }, [['body.tags.0', 'string_type']]],
  ['a list that is too long', { name: 'abc', tags: ['a', 'b'] }, [['body.tags', 'too_long']]],
  [
    'a map that is too large',
    { name: 'abc', words: { a: 'a', b: 'b' } },
    [['body.words', 'too_long']],
  ],
  ['no object at all', 'text', [['body', 'object_type']]],
  ['a list instead of an object', [], [['body', 'object_type']]],
])('body: %s', (_, value, expected) => {
  expect(faults(value)).toEqual(expected);
});

const messages = (value: unknown, schema = Body): unknown => {
  try {
    return check(schema, 'body')(value, 'body');
  } catch (error) {
    return (error as Invalid).fields.map(({ msg }) => msg);
  }
};

test.each([
  ['is near another one', { name: 'abc', kindd: 'a' }, 'Unknown field; did you mean "kind"?'],
  ['is near none', { name: 'abc', elsewhere: 'a' }, 'Unknown field'],
  ['has two letters swapped', { naem: 'abc' }, 'Unknown field; did you mean "name"?'],
  ['is longer than any name', { name: 'abc', ['n'.repeat(100_000)]: 1 }, 'Unknown field'],
])('an unknown field that %s', (_, value, sentence) => {
  expect(messages(value)).toContain(sentence);
});

test('an unknown field within a field names those of that place', () => {
  const nested = Type.Object({
    source: Type.Object({ image: Type.String() }, { additionalProperties: false }),
  });
  expect(messages({ source: { image: 'a', imgae: 'b' } }, nested as never)).toEqual([
    'Unknown field; did you mean "image"?',
  ]);
});

test.each([
  ['text is taken as the number it spells', { name: 'abc', size: '2' }, []],
  ['text that spells no number', { name: 'abc', size: 'two' }, [['query.size', 'integer_type']]],
  ['one value where a list is meant', { name: 'abc', tags: 'a' }, []],
  ['a flag is written true', { name: 'abc', flag: 'true' }, []],
  ['a flag is written 0', { name: 'abc', flag: '0' }, []],
  ['a flag is written True', { name: 'abc', flag: 'True' }, []],
  ['a flag is written False', { name: 'abc', flag: 'False' }, []],
  [
    'an empty value of a number, a word, an id and a flag is none',
    { name: 'abc', size: '', kind: '', id: [''], flag: '' },
    [],
  ],
  ['an empty value of a text is a text', { name: 'abc', tags: [''] }, []],
  ['text that is no flag', { name: 'abc', flag: 'yes' }, [['query.flag', 'boolean_type']]],
])('query: %s', (_, value, expected) => {
  expect(faults(value, 'query')).toEqual(expected);
});

const Numbers = Type.Object({
  list: Type.Array(Type.Object({ number: Type.Integer(), word: Type.String() })),
});

test('a list of a million wrong items is told with its first twenty faults', () => {
  const list = Array.from({ length: 1_000_000 }, () => 0);
  const found = faults({ list }, 'body', Numbers as never) as unknown[];
  expect(found).toHaveLength(20);
  expect(found.slice(0, 2)).toEqual([
    ['body.list.0', 'object_type'],
    ['body.list.1', 'object_type'],
  ]);
});

test('the only wrong item is told, wherever it stands', () => {
  const list: unknown[] = Array.from({ length: 10_000 }, () => ({ number: 1, word: 'a' }));
  list[9000] = { number: 1 };
  expect(faults({ list }, 'body', Numbers as never)).toEqual([['body.list.9000.word', 'missing']]);
});

test('a body of a hundred thousand unknown fields is told with the first of them', () => {
  const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`f${index}`, 1]));
  expect(faults({ name: 'abc', ...body })).toEqual([['body.f0', 'extra_forbidden']]);
});

test('what a client sent comes back cut', () => {
  const name = 'n'.repeat(1_000_000);
  expect(faults({ name: 'abc', [name]: 1 })).toEqual([
    [`body.${'n'.repeat(200)}...`, 'extra_forbidden'],
  ]);
});

test('a list of a body whose schema gives no bound has that of the server', () => {
  const bounded = createValidator({ listItems: 2 })(Numbers, 'body');
  expect(() => bounded({ list: [1, 2, 3] }, 'body')).toThrow(
    'body.list: must NOT have more than 2 items',
  );
});
