import { GxJson, PASSED_OVER } from '../../src/schema/agent/gx-json.ts';

type Schema = { [key: string]: unknown; properties?: Record<string, Schema> };

/** Returns the JSON Schema of gx.json, by which editors check the file and complete its keys. */
export function buildGxJsonSchema(): Schema {
  const schema = toPlainSchema(GxJson) as Schema;
  for (const [key, instead] of Object.entries(PASSED_OVER))
    describe(schema, key, `Has no effect: ${instead}.`);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'gx.json',
    description: 'The graph configuration of an agent server; langgraph.json has the same form.',
    ...schema,
  };
}

/** Returns the schema without the keywords that only Kubernetes knows. */
function toPlainSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlainSchema);
  if (typeof value !== 'object' || value === null) return value;
  const known = Object.entries(value).filter(([name]) => !name.startsWith('x-kubernetes-'));
  return Object.fromEntries(known.map(([name, part]) => [name, toPlainSchema(part)]));
}

function describe(schema: Schema, key: string, description: string): void {
  let at: Schema | undefined = schema;
  for (const part of key.split('.')) at = at?.properties?.[part];
  if (at !== undefined) at['description'] = description;
}
