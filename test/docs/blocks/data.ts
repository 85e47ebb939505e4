import { parseAllDocuments } from 'yaml';
import { Type } from 'typebox';
import { Ajv } from 'ajv';
import { AuthSpec } from '../../../src/schema/platform/spec/auth-spec.ts';
import { isObject, type Json } from '../../../src/schema/json.ts';
import { chartValues, definitionOf, faultsBy, gxJson } from './schemas.ts';

/* Blocks of YAML and JSON. Each is what its fields say: a resource, a part of one, values of the chart, a gx.json. */

/** Kinds of others, of which the API server or their controllers have the schema. */
const FOREIGN_KINDS: Record<string, string> = {
  'keda.sh/v1alpha1':
    'KEDA brings its definitions; test/operator reads the figures that it asks for',
  'admissionregistration.k8s.io/v1':
    'test/operator/admission.test.ts applies it to a real API server',
  'postgresql.cnpg.io/v1': 'make test-cnpg applies it',
  'rbac.authorization.k8s.io/v1': 'make test-company applies it to a real API server',
};

/** A deployment that is whole, to which a page shows a part. */
const WHOLE = {
  source: 'external_container',
  template: { sourceRevisionConfig: { imageUri: 'i' } },
};

/** Returns what is wrong with a block of YAML. */
export function faultsOfYaml(text: string): string[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) return document.errors.map(String);
    const value = document.toJS() as Json;
    if ('apiVersion' in value) return faultsOfResource(value);
    if ('checks' in value)
      return faultsOfPart({ spec: { rollout: { steps: [{ share: 5, seconds: 60 }], ...value } } });
    if ('status' in value) return faultsBy(definitionOf('Deployment')!.change, value);
    if ('spec' in value) return faultsOfPart(value);
    return faultsBy(chartValues, value);
  });
}

/** Returns what is wrong with a part of a Deployment. */
export const faultsOfPart = ({ spec, ...others }: Json): string[] =>
  faultsOfResource({
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    ...others,
    spec: { ...WHOLE, ...(isObject(spec) ? spec : {}) },
  });

export function faultsOfResource(value: Json): string[] {
  const { apiVersion, kind } = value as { apiVersion: string; kind: string };
  if (apiVersion in FOREIGN_KINDS) return [];
  const definition = apiVersion === 'gx.dev/v1alpha1' ? definitionOf(kind) : undefined;
  return definition === undefined
    ? [`nobody knows ${apiVersion} ${kind}`]
    : faultsBy(definition.check, value);
}

const ajv = new Ajv({ strict: false });
const INDEXES = Type.Array(
  Type.Object(
    {
      url: Type.String(),
      username: Type.String(),
      password: Type.String(),
      tenants: Type.Array(Type.String()),
    },
    { additionalProperties: false },
  ),
);

/** What a block of JSON may be, and how that is known. */
const FORMS: { is: (value: Json) => boolean; faults: (value: Json) => string[] }[] = [
  {
    is: (value) => 'graphs' in value || 'http' in value,
    faults: (value) => faultsBy(gxJson, { graphs: { a: './a.ts:graph' }, ...value }),
  },
  {
    is: (value) => 'issuer' in value,
    faults: (issuer) => faultsBy(ajv.compile(AuthSpec as object), issuer),
  },
  {
    is: (value) => Array.isArray(value) && 'url' in (value[0] as object),
    faults: (value) => faultsBy(ajv.compile(INDEXES as object), value),
  },
];

/** Blocks of JSON that others read, by their first key. */
const FOREIGN_JSON: Record<string, string> = {
  Version: 'a policy of AWS; test/kit/page-policy.ts gives it to an S3 server',
  servers: "a file of VS Code's",
  name: "a launch configuration of VS Code's",
  steps: 'the form of a stored list; test/agent/db reads such',
};

/** Returns what is wrong with a block of JSON. */
export function faultsOfJson(text: string): string[] {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return [String(error)];
  }
  const form = FORMS.find(({ is }) => is(value));
  if (form !== undefined) return form.faults(value);
  const [first = ''] = Object.keys(value);
  return first in FOREIGN_JSON ? [] : ['nobody knows what this is'];
}
