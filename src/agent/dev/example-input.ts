/* The input of the request that `gx dev` prints: it fits the graph. */

type Schema = { properties?: Record<string, Schema>; required?: string[] } & Record<
  string,
  unknown
>;

const TALK = { messages: [{ role: 'human', content: 'hello' }] };
const MOST_FIELDS = 3;

/** Returns an input by its schema: messages, or else the fields that the graph needs, or its first one. */
export function buildExampleInput(schema: unknown): object {
  const { properties, required = [] } = (schema ?? {}) as Schema;
  const names = Object.keys(properties ?? {});
  if (properties === undefined || names.length === 0 || names.includes('messages')) return TALK;
  const needed = names.filter((name) => required.includes(name)).slice(0, MOST_FIELDS);
  const shown = needed.length > 0 ? needed : names.slice(0, 1);
  return Object.fromEntries(shown.map((name) => [name, buildSample(properties[name]!)]));
}

const SAMPLES: Record<string, unknown> = {
  string: 'hello',
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
  object: {},
};

function buildSample(schema: Schema): unknown {
  const { type, default: usual, examples, enum: words, anyOf } = schema;
  if (usual !== undefined && usual !== null && usual !== '') return usual;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (Array.isArray(words) && words.length > 0) return words[0];
  const types = [
    type,
    ...(Array.isArray(anyOf) ? (anyOf as Schema[]).map((each) => each['type']) : []),
  ].flat();
  const known = types.find(
    (each): each is string => typeof each === 'string' && Object.hasOwn(SAMPLES, each),
  );
  return SAMPLES[known ?? 'string'];
}
