import { expect, test } from 'vitest';
import { buildCrd } from '../../src/schema/platform/resources/crd.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import { everySchema, rootOf, type Schema } from './walk.ts';

const specOf = (kind: (typeof KINDS)[number]): Schema => rootOf(kind).properties?.spec ?? {};

test('no two kinds share a name by which kubectl finds them', () => {
  const names = KINDS.flatMap(({ plural, singular, shortNames }) => [
    plural,
    singular,
    ...shortNames,
  ]);
  expect(new Set(names).size).toBe(names.length);
});

test('all are found by `kubectl get gx`', () => {
  for (const kind of KINDS)
    expect(buildCrd(kind)).toMatchObject({ spec: { names: { categories: ['gx'] } } });
});

test.each(KINDS.filter(({ status }) => status !== undefined))(
  'the status of a $kind is a sub-resource that begins as not yet observed',
  (kind) => {
    expect(buildCrd(kind)).toMatchObject({
      spec: { versions: [{ subresources: { status: {} } }] },
    });
    const born = { Revision: { phase: 'CREATING' }, Backup: { phase: 'Running' } }[kind.kind] ?? {};
    expect(rootOf(kind).properties?.status?.default).toEqual({ observedGeneration: -1, ...born });
    expect(rootOf(kind).properties?.status?.properties?.conditions).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    });
  },
);

test.each(KINDS)(
  'the spec of a $kind has no defaults, which would show as drift to who keeps it in git',
  (kind) => {
    expect([...everySchema(specOf(kind))].filter(({ schema }) => 'default' in schema)).toEqual([]);
  },
);

test('a Deployment is called by a DNS label, because its name goes into labels and host names', () => {
  const deployment = KINDS.find(({ kind }) => kind === 'Deployment');
  expect(deployment?.rules.map(({ rule }) => rule).join()).toContain(
    'self.metadata.name.size() <= 63',
  );
});

test('a Revision repeats what makes it in the very shape of the Deployment', () => {
  const [deployment, revision] = ['Deployment', 'Revision'].map(
    (name) => KINDS.find(({ kind }) => kind === name) as (typeof KINDS)[number],
  );
  const shared = ['source', 'template', 'requestedAt', 'rollbackOf', 'sourceConfig'];
  const shape = (kind: (typeof KINDS)[number] | undefined) =>
    shared.map((name) => {
      const { description: _description, ...rest } = (specOf(kind as (typeof KINDS)[number])
        .properties?.[name] ?? {}) as Schema & {
        description?: string;
      };
      return rest;
    });
  expect(shape(revision)).toEqual(shape(deployment));
});
