import { expect, test } from 'vitest';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import {
  ORDERED_RESOURCE_FIELDS,
  ResourceSpec,
  UNUSED_RESOURCE_FIELDS,
} from '../../src/schema/platform/spec/resource-spec.ts';
import { toCamelKey } from '../../src/schema/types.ts';
import { everySchema, rootOf } from './walk.ts';

const deployment = KINDS.find(({ kind }) => kind === 'Deployment') as (typeof KINDS)[number];
const spec = [...everySchema(rootOf(deployment))].find(
  ({ path }) => path === 'spec.template.resourceSpec',
)?.schema;
const fields = Object.keys(spec?.properties ?? {});

test('the custom resource has every field, in the same order', () => {
  expect(fields).toEqual(Object.keys(ResourceSpec.properties).map(toCamelKey));
  expect(UNUSED_RESOURCE_FIELDS).toHaveLength(10);
});

test.each(ORDERED_RESOURCE_FIELDS.map(([low, high, unless]) => ({ low, high, unless })))(
  '$low must not exceed $high, by a rule of the API server',
  ({ low, high, unless }) => {
    const given = unless === undefined ? '' : `has(self.${toCamelKey(unless)}) || `;
    expect(fields).toEqual(expect.arrayContaining([toCamelKey(low), toCamelKey(high)]));
    expect(spec?.['x-kubernetes-validations']?.map(({ rule }) => rule)).toContain(
      `${given}!has(self.${toCamelKey(low)}) || !has(self.${toCamelKey(high)}) || self.${toCamelKey(low)} <= self.${toCamelKey(high)}`,
    );
  },
);

test('every pair of a size and its limit, or of least and greatest replicas, is ordered', () => {
  const names = Object.keys(ResourceSpec.properties).filter(
    (name) => !UNUSED_RESOURCE_FIELDS.includes(name),
  );
  const limits = names.filter((name) => /_limit(_mb)?$|max_scale$/.test(name));
  const own = ORDERED_RESOURCE_FIELDS.filter(([, , unless]) => unless === undefined);
  expect(own.map(([, high]) => high).toSorted()).toEqual(limits.toSorted());
});
