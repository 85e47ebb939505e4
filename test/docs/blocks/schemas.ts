import { globSync, readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { isComposite, isObject, type Json } from '../../../src/schema/json.ts';

/* The schemas that examples are checked against: those that the chart, the definitions and the servers publish. */

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });

/** Returns the schema without room for fields that it does not name, as `kubectl` takes it with strict validation. */
function closed(schema: unknown): unknown {
  if (!isComposite(schema)) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const parts = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, closed(part)]),
  );
  const isOpen =
    schema['x-kubernetes-preserve-unknown-fields'] === true || 'additionalProperties' in schema;
  // A map of properties may itself have one that is called so.
  return isObject(schema['properties']) && schema['type'] === 'object' && !isOpen
    ? { ...parts, additionalProperties: false }
    : parts;
}

/** Returns the schema of a change, which need not have every field. */
function withoutRequired(schema: unknown): unknown {
  if (!isComposite(schema)) return schema;
  if (Array.isArray(schema)) return schema.map(withoutRequired);
  const entries = Object.entries(schema).filter(
    ([name, part]) => !(name === 'required' && Array.isArray(part)),
  );
  return Object.fromEntries(entries.map(([name, part]) => [name, withoutRequired(part)]));
}

/** `check` is for whole resources, and `change` for what a patch changes. */
export type Definition = {
  kind: string;
  names: string[];
  schema: Json;
  check: ValidateFunction;
  change: ValidateFunction;
};

/** The definitions of this platform, by kind. */
export const definitions: Definition[] = globSync('crds/*.yaml').map((file) => {
  const { spec } = parse(readFileSync(file, 'utf8')) as {
    spec: {
      names: { kind: string; plural: string; singular: string; shortNames?: string[] };
      group: string;
      versions: { schema: { openAPIV3Schema: Json } }[];
    };
  };
  const { kind, plural, singular, shortNames = [] } = spec.names;
  const schema = spec.versions[0]!.schema.openAPIV3Schema;
  const properties = { ...(schema['properties'] as Json), metadata: { type: 'object' } };
  const whole = closed({ ...schema, properties }) as Json;
  const names = [plural, singular, ...shortNames, `${plural}.${spec.group}`];
  return {
    kind,
    names,
    schema,
    check: ajv.compile(whole),
    change: ajv.compile(withoutRequired(whole) as Json),
  };
});

export const definitionOf = (name: string): Definition | undefined =>
  definitions.find(({ kind, names }) => kind === name || names.includes(name.toLowerCase()));

/** Returns what is wrong with a value, as sentences. */
export function faultsBy(check: ValidateFunction, value: unknown): string[] {
  if (check(value)) return [];
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath} ${message} ${JSON.stringify(params['additionalProperty'] ?? '')}`,
  );
}

const compiled = (file: string): ValidateFunction =>
  ajv.compile(JSON.parse(readFileSync(file, 'utf8')) as Json);

/** Returns whether a kind has the field, as JSON paths name it (`status.rollout.candidate`). */
export function hasField({ schema }: Definition, path: string): boolean {
  let part: Json | undefined = schema;
  for (const name of path.split('.')) {
    const properties: unknown = part?.['properties'];
    if (!isObject(properties)) return true;
    part = properties[name] as Json | undefined;
    if (part === undefined) return false;
  }
  return true;
}

/** The values of the chart. */
export const chartValues = compiled('charts/gx-platform/values.schema.json');

/** A gx.json. */
export const gxJson = compiled('schemas/gx.schema.json');

export type Document = {
  paths: Record<
    string,
    Record<string, { requestBody?: { content: Record<string, { schema: Json }> } }>
  >;
  components?: Json;
};

/** The routes of the REST API. */
export const restApi = JSON.parse(
  readFileSync('docs/openapi/control-plane.json', 'utf8'),
) as Document;

/** Returns what is wrong with a request: no such route, or a body that it does not take. */
export function faultsOfRequest(
  document: Document,
  { method, path, body }: { method: string; path: string; body: string | undefined },
): string[] {
  const asked = path.split('?')[0]!;
  const found = Object.keys(document.paths).find((one) =>
    new RegExp(`^${one.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(asked),
  );
  const operation = found === undefined ? undefined : document.paths[found]![method.toLowerCase()];
  if (operation === undefined) return [`there is no ${method} ${asked}`];
  if (body === undefined) return [];
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema === undefined) return [`${method} ${asked} takes no body`];
  try {
    return faultsBy(
      ajv.compile({ ...schema, components: document.components ?? {} }),
      JSON.parse(body),
    );
  } catch (error) {
    return [`${String(error)}: ${body}`];
  }
}
