import type { DeclaredSchemas, GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import { parseJsonText } from '../../schema/wire/wall/json-text.ts';
import type { Answer, Args } from '../../schema/wire/wall/operations.ts';
import type { GraphHost } from '../graphs/host.ts';
import type { TypedSchemas } from './typed-schemas.ts';

/** The parts that know what graphs say of themselves. */
export type SchemaDeps = { host: GraphHost; typedSchemas: TypedSchemas };

/** Returns the schemas of a graph: its own declaration, completed by its types, else by the names of its fields. */
export async function readGraphSchemas(
  graph_id: string,
  { host, typedSchemas }: SchemaDeps,
): Promise<Answer<'schemas'>> {
  const declared = parseJsonText(await host.call('schemas', { graph_id }));
  return isComplete(declared)
    ? declared
    : { graph_id, ...mergeTyped(declared, (await typedSchemas.readSchemas(graph_id))['']) };
}

/** Returns the same for the subgraphs, by namespace. */
export async function readSubgraphSchemas(
  args: Args<'subgraphs'>,
  { host, typedSchemas }: SchemaDeps,
): Promise<Answer<'subgraphs'>> {
  const declared = Object.entries(parseJsonText(await host.call('subgraphs', args)));
  if (declared.every(([, schemas]) => isComplete(schemas))) return Object.fromEntries(declared);
  const typed = await typedSchemas.readSchemas(args.graph_id);
  return Object.fromEntries(
    declared.map(([namespace, schemas]) => [namespace, mergeTyped(schemas, typed[namespace])]),
  );
}

/** Returns whether nothing is missing. Most graphs have no context, so its absence is no reason to look further. */
const isComplete = ({ input_schema, output_schema, state_schema }: GraphSchemas): boolean =>
  input_schema !== null && output_schema !== null && state_schema !== null;

/** Returns the graph's own schemas, completed by those of its types, else by the names of its fields. */
function mergeTyped(
  { fields, ...declared }: DeclaredSchemas,
  typed: GraphSchemas | undefined,
): GraphSchemas {
  return { ...declared, ...fields, ...omitSilent(typed, fields), ...omitNull(declared) };
}

/**
 * Returns the schemas of types without those that name no field of a graph that has some: the types of
 * `new StateGraph<State>(annotation)` name none.
 */
const omitSilent = (
  typed: Partial<GraphSchemas> | undefined,
  fields: DeclaredSchemas['fields'],
): Partial<GraphSchemas> =>
  Object.fromEntries(
    Object.entries(omitNull(typed)).filter(
      ([name, schema]) => countFields(schema) > 0 || countFields(Object(fields)[name]) === 0,
    ),
  );

const countFields = (schema: unknown): number =>
  Object.keys(Object(Object(schema).properties)).length;

const omitNull = (schemas: Partial<GraphSchemas> = {}): Partial<GraphSchemas> =>
  Object.fromEntries(Object.entries(schemas).filter(([, schema]) => schema !== null));
