import { createRequire } from 'node:module';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import type { DeclaredSchemas, FieldSchemas } from '../../schema/wire/wall/graph-answers.ts';
import { type Json, isComposite } from '../../schema/json.ts';

/*
 * This file turns a graph's own definition of its state into JSON Schema: zod 3, zod 4 or a `StateSchema`, each of the
 * copy that the graph brings. Annotations say only which fields there are, because their types are gone at run time.
 */

/** How a state is shown: as a node or a client writes it, or as it is. */
type View = { withReducerSchema?: true; asPartial?: true };
/** LangGraph's list of the extras that were registered beside zod schemas. */
type Registry = {
  getExtendedChannelSchemas(
    schema: unknown,
    effects: View & { withJsonSchemaExtrasAsDescription: true },
  ): object;
};
/** The part of a graph's definition that keeps the schemas that it was made with. */
export type GraphBuilder = {
  _metaRegistry?: Registry;
  _schemaRuntimeDefinition?: unknown;
  _inputRuntimeDefinition?: unknown;
  _outputRuntimeDefinition?: unknown;
  _configRuntimeSchema?: unknown;
  _schemaDefinition?: Channels;
  _inputDefinition?: Channels;
  _outputDefinition?: Channels;
};

type Channels = Record<string, { operator?: { name?: unknown } } | undefined>;

const WRITTEN: View = { withReducerSchema: true, asPartial: true };
const GIVEN: Side = { io: 'input' };
const HELD: Side = { io: 'output' };
/** LangGraph's mark on an input that is a part of the state. */
const PARTIAL = Symbol.for('langgraph.state.partial');

/** Returns the schemas of a graph whose code lies in `file`; null where its definition does not say. */
export function buildZodSchemas(builder: GraphBuilder | undefined, file: string): DeclaredSchemas {
  const {
    _schemaRuntimeDefinition: state,
    _inputRuntimeDefinition: input,
    _outputRuntimeDefinition: output,
  } = builder ?? {};
  const buildSchema = (definition: unknown, side: Side, view: View = {}): Json | null => {
    if (!isComposite(definition)) return null;
    if (isStateSchema(definition))
      return view.asPartial ? definition.getInputJsonSchema() : definition.getJsonSchema();
    const extras = { ...view, withJsonSchemaExtrasAsDescription: true } as const;
    try {
      const extended =
        builder?._metaRegistry?.getExtendedChannelSchemas(definition, extras) ?? definition;
      return mergeExtras(convert(extended, side, file)) as Json;
    } catch {
      return null;
    }
  };
  const config = buildSchema(builder?._configRuntimeSchema, GIVEN);
  const declared = {
    input_schema: buildSchema(input === PARTIAL ? state : input, GIVEN, WRITTEN),
    output_schema: buildSchema(output, HELD),
    state_schema: buildSchema(state, HELD),
  };
  const isWhole = Object.values(declared).every((schema) => schema !== null);
  return {
    ...declared,
    config_schema: config,
    context_schema: config,
    ...(!isWhole && { fields: readFields(builder) }),
  };
}

/** Returns schemas that name the fields of a state. Lists of messages are known by LangGraph's reducer. */
function readFields({
  _inputDefinition: input,
  _outputDefinition: output,
  _schemaDefinition: state,
}: GraphBuilder = {}): FieldSchemas {
  const buildSchema = (channels: Channels | undefined): Json | null => {
    if (!isComposite(channels)) return null;
    const properties = Object.entries(channels).map(([name, channel]) => [
      name,
      channel?.operator?.name === 'messagesStateReducer'
        ? { type: 'array', langgraph_type: 'messages' }
        : {},
    ]);
    return { type: 'object', properties: Object.fromEntries(properties) as Json };
  };
  return {
    input_schema: buildSchema(input),
    output_schema: buildSchema(output),
    state_schema: buildSchema(state),
  };
}

const isStateSchema = (
  definition: object,
): definition is { getJsonSchema(): Json; getInputJsonSchema(): Json } =>
  'getInputJsonSchema' in definition && 'getJsonSchema' in definition;

/** The side of a schema that is shown, where the schema transforms its values. */
type Side = { io: 'input' | 'output' };
type Converter = (schema: unknown, options: Side & { unrepresentable: 'any' }) => unknown;

/**
 * Returns the converter of the zod that the graph brings, because that of another version can't read all of its
 * schemas.
 */
function findZodConverter(file: string): Converter {
  const own = createRequire(file);
  for (const find of [() => own, () => createRequire(own.resolve('@langchain/langgraph'))])
    try {
      return (find()('zod/v4/core') as { toJSONSchema: Converter }).toJSONSchema;
    } catch {
      // This zod can't be found from there.
    }
  return toJsonSchema as Converter;
}

/** Converts a schema. Zod 3 no longer changes, so LangChain's converter reads the schemas of every copy. */
const convert = (schema: object, side: Side, file: string): unknown =>
  '_zod' in schema
    ? findZodConverter(file)(schema, { ...side, unrepresentable: 'any' })
    : toJsonSchema(schema);

/** LangGraph writes the extras of a schema into its description, behind this mark. */
const EXTRAS = 'lg:';

/** Returns a JSON Schema in which the extras of its parts, `langgraph_type` for one, have become fields. */
function mergeExtras(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(mergeExtras);
  if (!isComposite(schema)) return schema;
  const parts = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, mergeExtras(part)]),
  );
  const { description, ...rest } = parts;
  if (typeof description !== 'string' || !description.startsWith(EXTRAS)) return parts;
  return { ...rest, ...(JSON.parse(description.slice(EXTRAS.length)) as Json) };
}
