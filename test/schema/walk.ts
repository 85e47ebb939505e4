import { buildCrd } from '../../src/schema/platform/resources/crd.ts';
import type { CustomKind } from '../../src/schema/platform/resources/custom-kinds.ts';

export type Schema = {
  type?: string;
  format?: string;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  maxItems?: number;
  default?: unknown;
  maxLength?: number;
  maxProperties?: number;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-validations'?: { rule: string; message?: string }[];
};

/** Returns a schema and everything below it, each with its path. */
export function* everySchema(
  schema: Schema,
  path = '',
): Generator<{ path: string; schema: Schema }> {
  yield { path, schema };
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    yield* everySchema(inner, at(name));
  if (schema.items !== undefined) yield* everySchema(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object')
    yield* everySchema(schema.additionalProperties, `${path}{}`);
}

/** Returns the root schema of a kind's definition. */
export function rootOf(kind: CustomKind): Schema {
  const { spec } = buildCrd(kind) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  return spec.versions[0]?.schema.openAPIV3Schema ?? {};
}
