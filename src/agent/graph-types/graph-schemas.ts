import type { GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import { parsed } from '../../schema/wire/wall/json-text.ts';
import type { Answer, Args } from '../../schema/wire/wall/operations.ts';
import type { GraphHost } from '../graphs/host.ts';
import type { TypedSchemas } from './typed-schemas.ts';

/** The parts that know what graphs say of themselves. */
export type SchemaDeps = { host: GraphHost; typedSchemas: TypedSchemas };

/** Returns the schemas of what a graph takes and gives: its own words, completed by its types. */
export async function graphSchemas(graph_id: string, { host, typedSchemas }: SchemaDeps): Promise<Answer<'schemas'>> {
  const told = parsed(await host.call('schemas', { graph_id }));
  return isComplete(told) ? told : { graph_id, ...filled(told, (await typedSchemas.of(graph_id))['']) };
}

/** Returns the same for the subgraphs, by namespace. */
export async function subgraphSchemas(args: Args<'subgraphs'>, { host, typedSchemas }: SchemaDeps): Promise<Answer<'subgraphs'>> {
  const told = Object.entries(parsed(await host.call('subgraphs', args)));
  if (told.every(([, schemas]) => isComplete(schemas))) return Object.fromEntries(told);
  const typed = await typedSchemas.of(args.graph_id);
  return Object.fromEntries(told.map(([namespace, schemas]) => [namespace, filled(schemas, typed[namespace])]));
}

/** Returns whether nothing is missing. Most graphs have no context, so its absence is no reason to look further. */
const isComplete = ({ input_schema, output_schema, state_schema }: GraphSchemas): boolean =>
  input_schema !== null && output_schema !== null && state_schema !== null;

/** Returns what the graph said, completed by what its types say. */
function filled(told: GraphSchemas, typed: GraphSchemas | undefined): GraphSchemas {
  const said = Object.entries(told).filter(([, schema]) => schema !== null);
  return { ...told, ...typed, ...Object.fromEntries(said) };
}
