import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Schema = {
  [field: string]: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
};
/** The OpenAPI document of an API server, version 2. */
export type Published = { definitions: Record<string, Schema> };

/** Where kubeconform looks for an object's schema. For Kubernetes' first kinds, the version is the group. */
export const LOCATION = '{{.ResourceKind}}_{{.Group}}_{{.ResourceAPIVersion}}.json';

/** Values that the API server takes in a second form, which its document doesn't say. */
const OF_TWO_FORMS: Record<string, string> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'integer',
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'number',
};

/** Writes a file with the strict schema of each kind that an API server publishes. Returns the names of the files. */
export function writeSchemas({ definitions }: Published, folder: string): string[] {
  const strict = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [name, strictly(name, schema)]),
  );
  return Object.entries(definitions).flatMap(
    ([name, { 'x-kubernetes-group-version-kind': kinds = [] }]) =>
      kinds.map(({ group, version, kind }) => {
        const file = `${kind.toLowerCase()}_${group === '' ? version : group}_${version}.json`;
        const used = Object.fromEntries(
          reachable(name, strict).map((each) => [each, strict[each]]),
        );
        const schema = {
          $schema: 'http://json-schema.org/draft-04/schema#',
          definitions: used,
          $ref: `#/definitions/${name}`,
        };
        writeFileSync(join(folder, file), JSON.stringify(schema));
        return file;
      }),
  );
}

function strictly(name: string, schema: Schema): Schema {
  const second = OF_TWO_FORMS[name];
  return second === undefined ? closed(schema) : { oneOf: [{ type: 'string' }, { type: second }] };
}

/** Returns a schema whose objects have no other fields than those that it names. */
function closed(schema: Schema): Schema {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'properties' ? value : closedIn(value),
    ]),
  );
  if (schema.properties === undefined) return inner;
  const properties = Object.fromEntries(
    Object.entries(schema.properties).map(([field, value]) => [field, closed(value)]),
  );
  const isOpen =
    schema.additionalProperties !== undefined ||
    schema['x-kubernetes-preserve-unknown-fields'] === true;
  return { ...inner, properties, ...(!isOpen && { additionalProperties: false }) };
}

function closedIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedIn);
  return isSchema(value) ? closed(value) : value;
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

/** Returns the names of all definitions that this one is made of. */
function reachable(name: string, definitions: Record<string, Schema>): string[] {
  const found = new Set([name]);
  for (const each of found)
    for (const [, next = ''] of JSON.stringify(definitions[each]).matchAll(
      /"#\/definitions\/([^"]+)"/g,
    ))
      found.add(next);
  return [...found];
}
