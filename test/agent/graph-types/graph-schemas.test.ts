import { expect, test } from 'vitest';
import { readGraphSchemas, type SchemaDeps } from '../../../src/agent/graph-types/graph-schemas.ts';

/* Where types say nothing of a graph, the names of its fields count. */

const object = (properties: object) => ({ type: 'object', properties });
const all = (schema: object | null) => ({
  input_schema: schema,
  output_schema: schema,
  state_schema: schema,
});

/** Returns the input schema of a graph that declares none, by its fields and by its types. */
async function readInput(fields: object, typed: object): Promise<unknown> {
  const declared = { graph_id: 'g', ...all(null), config_schema: null, context_schema: null };
  const deps = {
    host: { call: async () => JSON.stringify({ ...declared, fields: all(fields) }) },
    typedSchemas: { readSchemas: async () => ({ '': all(typed) }) },
  } as unknown as SchemaDeps;
  return (await readGraphSchemas('g', deps)).input_schema;
}

test('types that name no field leave the fields that the graph has', async () => {
  const fields = object({ messages: {}, tools: {} });
  expect(await readInput(fields, object({}))).toEqual(fields);
});

test('types that name fields say more, and a graph may have none', async () => {
  const typed = object({ tools: { type: 'array' } });
  expect(await readInput(object({ tools: {} }), typed)).toEqual(typed);
  expect(await readInput(object({}), object({}))).toEqual(object({}));
});
