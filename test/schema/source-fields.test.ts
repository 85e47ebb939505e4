import { describe, expect, test } from 'vitest';
import {
  SourceConfig,
  SourceRevisionConfigRequest,
} from '../../src/schema/platform/deployment/deployment.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import {
  buildCelHas,
  buildImmutableRule,
  buildImmutableRules,
  SOURCE_FIELDS,
  buildSourceRules,
  tagRule,
} from '../../src/schema/platform/source/source-fields.ts';
import { everySchema, rootOf } from './walk.ts';

const deployment = KINDS.find(({ kind }) => kind === 'Deployment');
const root = rootOf(deployment as (typeof KINDS)[number]);
const rules = [...everySchema(root)].flatMap(
  ({ schema }) => schema['x-kubernetes-validations'] ?? [],
);
const paths = new Set([...everySchema(root)].map(({ path }) => path));
const inResource = SOURCE_FIELDS.flatMap((field) =>
  field.resource === undefined ? [] : [{ ...field, path: field.resource }],
);

describe.each(inResource)('$path', ({ path, source, required, immutable }) => {
  test('is a field of the custom resource', () => {
    expect(paths).toContain(`spec.${path}`);
  });

  test(`is refused by the API server for another source than ${source}`, () => {
    expect(rules).toContainEqual({
      rule: `!(${buildCelHas('self', path)}) || self.source == '${source}'`,
      message: `${path}: only for source ${source}`,
    });
  });

  test('has rules for being required and fixed exactly when the table says so', () => {
    const messages = rules.map(({ message }) => message);
    expect(messages.includes(`${path}: required for source ${source}`)).toBe(required === true);
    expect(messages.includes(`${path}: can't be changed`)).toBe(immutable === true);
  });
});

test('every row names a field of the REST body', () => {
  const known = [
    ...Object.keys(SourceConfig.properties).map((name) => `source_config.${name}`),
    ...Object.keys(SourceRevisionConfigRequest.properties).map(
      (name) => `source_revision_config.${name}`,
    ),
  ];
  expect(SOURCE_FIELDS.map(({ rest }) => rest).filter((rest) => !known.includes(rest))).toEqual([]);
  // Who may call and where pods stand is asked for whatever the source.
  expect(known.filter((name) => !SOURCE_FIELDS.some(({ rest }) => rest === name))).toEqual([
    'source_config.database_backup',
    'source_config.database_placement',
    'source_config.storage_class',
    'source_config.rollout',
    'source_revision_config.auth',
    'source_revision_config.placement',
  ]);
});

test('all rules of the table stand in the definition, and the one on tags', () => {
  for (const rule of [...buildSourceRules(), ...buildImmutableRules(), tagRule])
    expect(rules).toContainEqual(rule);
});

test('a fixed field is compared by presence first, because a rule on the field is skipped while it is absent', () => {
  const { rule } = buildImmutableRule('sourceConfig.repoUrl');
  expect(rule).toContain('has(oldSelf.sourceConfig) && has(oldSelf.sourceConfig.repoUrl)');
  expect(rule).toContain('(has(self.sourceConfig) && has(self.sourceConfig.repoUrl))');
});

test('source and name never change, and a revision never changes at all', () => {
  expect(rules.map(({ rule }) => rule)).toContain('self.source == oldSelf.source');
  const revision = KINDS.find(({ kind }) => kind === 'Revision') as (typeof KINDS)[number];
  expect(rootOf(revision).properties?.spec?.['x-kubernetes-validations']).toContainEqual(
    expect.objectContaining({ rule: 'self == oldSelf' }),
  );
});
