import { DEEPEST } from '../../src/http/bodies/json-structure.ts';

/** A JSON schema, as an OpenAPI document writes it. */
export type Schema = {
  type?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
};

export type Shape = { name: string; body: string };

const MEBIBYTE = 1024 * 1024;
/** What a body may hold, less what a frame around it takes (docs/reference/agent-server.md). */
const valuesIn = (bytes: number): number => Math.floor(100_000 * (1 + bytes / MEBIBYTE / 2)) - 100;
const NAMES = 9_500;

const list = (item: string, count: number): string =>
  `[${Array.from({ length: Math.floor(count) }, () => item).join()}]`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

/** Returns values that are refused by a look at their bytes, of about so many bytes. */
const refusedValues = (bytes: number): Record<string, string> => ({
  'numbers, beyond all limits': list('0', bytes / 2),
  'one list, deeper than allowed': deep(bytes / 2),
});

/** Returns values that are read, and are expensive for their size. */
function readValues(bytes: number): Record<string, string> {
  const values = valuesIn(bytes);
  const most = (item: string, each: number): number =>
    Math.min(values / each, bytes / (item.length + 1));
  const names = Array.from(
    { length: Math.min(NAMES, bytes / 12) },
    (_, index) => `"${index.toString(36)}":0`,
  );
  return {
    'numbers, as many as may be': list('0', most('0', 1)),
    'small records': list('{"a":1,"b":"2"}', most('{"a":1,"b":"2"}', 4)),
    'different names': `{${names.join()}}`,
    'deep lists': list(
      deep(DEEPEST - 100),
      Math.max(1, Math.min(values / DEEPEST, bytes / (2 * DEEPEST))),
    ),
    'one text that needs two bytes a character': `"${'é'.repeat(bytes / 2 - 2)}"`,
  };
}

/** Returns a value that the schema takes, for each field that a body must have. */
export type Needed = (name: string) => unknown;

/** Returns bodies of at most so many bytes: each expensive value as the whole body, and in fields of each kind. */
export function worstBodies(schema: Schema, bytes: number, needed: Needed): Shape[] {
  const fields = fieldsOf(schema.items ?? schema);
  const record = Object.fromEntries(
    (schema.items ?? schema).required?.map((name) => [name, needed(name)]) ?? [],
  );
  const room = bytes - JSON.stringify(record).length - 100;
  const whole = Object.entries({ ...refusedValues(room), ...readValues(room) }).map(
    ([name, body]) => ({
      name: `${name} as the body`,
      body,
    }),
  );
  const within = Object.entries(readValues(room)).flatMap(([name, value]) =>
    fields.map((field) => {
      const frame = `${JSON.stringify({ ...record, [field]: undefined }).slice(0, -1)}${Object.keys(record).some((key) => key !== field) ? ',' : ''}"${field}":${value}}`;
      return {
        name: `${name} in ${field}`,
        body: schema.items === undefined ? frame : `[${frame}]`,
      };
    }),
  );
  return [...whole, ...within];
}

/** Returns a field that takes any content, and one that takes a list, where the schema has them. */
function fieldsOf({ properties = {} }: Schema): string[] {
  const named = Object.entries(properties);
  const free = named.find(([, { type }]) => type === 'object' || type === undefined);
  const listed = named.find(([, { type }]) => String(type).includes('array'));
  return [free, listed].flatMap((found) => (found === undefined ? [] : [found[0]]));
}
