import { Type, type TSchema } from 'typebox';
import { expect, test } from 'vitest';
import { Invalid, type FieldError } from '../../src/errors.ts';
import { shareSchemaParts } from '../../src/http/bodies/shared-schemas.ts';
import { createValidator } from '../../src/http/bodies/validate.ts';
import { DeploymentCreateRequest } from '../../src/schema/platform/deployment/deployment.ts';

const Place = Type.Object(
  {
    zone: Type.String({
      minLength: 2,
      description: 'The zone that is asked for, by the name that its nodes have.',
    }),
    weight: Type.Optional(Type.Integer({ default: 3 })),
  },
  { additionalProperties: false },
);
const Pair = Type.Object({ agents: Place, databases: Place });

const faults = (schema: TSchema, value: unknown): FieldError[] => {
  try {
    createValidator()(schema, 'body')(value, 'body');
    return [];
  } catch (error) {
    return (error as Invalid).fields;
  }
};

test('a part that occurs twice is written once', () => {
  expect(shareSchemaParts(Pair)).toMatchObject({
    properties: { agents: { $ref: '#/$defs/part0' }, databases: { $ref: '#/$defs/part0' } },
    $defs: { part0: { properties: { zone: { minLength: 2 } } } },
  });
});

test('the schema of a deployment has little more than half of its length', () => {
  const length = (schema: object): number => JSON.stringify(schema).length;
  expect(length(shareSchemaParts(DeploymentCreateRequest))).toBeLessThan(
    length(DeploymentCreateRequest) * 0.57,
  );
});

test('faults keep their places, and defaults within a shared part are filled in', () => {
  const value = { agents: { zone: 'eu' }, databases: { zone: 'eu', weight: 1 } };
  expect(faults(Pair, value)).toEqual([]);
  expect(value.agents).toEqual({ zone: 'eu', weight: 3 });
  expect(
    faults(Pair, { agents: { zone: 'e' }, databases: { zone: 'eu', size: 1 } }).map(({ loc }) =>
      loc.join('.'),
    ),
  ).toEqual(['body.agents.zone', 'body.databases.size']);
});

test('a part with a default of its own is filled in at both places', () => {
  const WithDefault = Type.Object(
    { zone: Type.String({ minLength: 2, maxLength: 40, pattern: '^[a-z]+$' }) },
    { default: { zone: 'eu' }, description: 'Where it runs.' },
  );
  const value = {};
  expect(
    faults(
      Type.Object({ first: Type.Optional(WithDefault), second: Type.Optional(WithDefault) }),
      value,
    ),
  ).toEqual([]);
  expect(value).toEqual({ first: { zone: 'eu' }, second: { zone: 'eu' } });
});

test('data that looks like a schema is left alone', () => {
  const Constant = Type.Unsafe({
    const: { kept: { ...Place, title: 'data' }, too: { ...Place, title: 'data' } },
  });
  const shared = shareSchemaParts(
    Type.Object({ first: Place, second: Place, third: Constant }),
  ) as { properties: { third: unknown } };
  expect(shared.properties.third).toEqual(Constant);
});

test('a schema with references of its own is as it was', () => {
  const schema = {
    $defs: { place: Place },
    properties: { first: { $ref: '#/$defs/place' }, second: Place, third: Place },
  };
  expect(shareSchemaParts(schema)).toBe(schema);
});
