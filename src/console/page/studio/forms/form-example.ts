import type { FormField } from './schema-fields.ts';

const WORDS = 'Hello! What can you do?';

const EXAMPLES: Record<FormField['kind'], unknown> = {
  text: 'some words',
  number: 1.5,
  integer: 1,
  truth: true,
  choice: undefined,
  json: {},
};

function buildExampleValue({ name, kind, choices, initial }: FormField): unknown {
  if (name === 'messages') return [{ role: 'user', content: WORDS }];
  if (kind === 'choice') return choices[0]?.value;
  if (initial !== '' && kind !== 'json')
    return kind === 'text' ? initial : (JSON.parse(initial) as unknown);
  return EXAMPLES[kind];
}

/** Returns an input that fits the fields of a graph; messages alone where it has none. */
export const buildFormExample = (fields: readonly FormField[] | undefined): object =>
  Object.fromEntries(
    fields === undefined
      ? [['messages', [{ role: 'user', content: WORDS }]]]
      : fields.map((field) => [field.name, buildExampleValue(field)]),
  );

/** Returns the message that an example sends; undefined where the graph takes none. */
export const buildFirstMessage = (fields: readonly FormField[] | undefined): string | undefined =>
  fields === undefined || fields.some(({ name }) => name === 'messages') ? WORDS : undefined;
