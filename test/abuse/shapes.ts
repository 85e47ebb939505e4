import { DEEPEST } from '../../src/http/json-structure.ts';

/** A JSON schema, as an OpenAPI document writes it. */
export type Schema = { type?: string; items?: Schema; properties?: Record<string, Schema>; required?: string[] };

export type Shape = { name: string; body: string };

const MEBIBYTE = 1024 * 1024;
/** What a body may hold, less what a frame around it takes (docs/reference/agent-server.md). */
const valuesIn = (bytes: number): number => Math.floor(100_000 * (1 + bytes / MEBIBYTE / 2)) - 100;
const NAMES = 29_000;

const list = (item: string, count: number): string => `[${Array.from({ length: Math.floor(count) }, () => item).join()}]`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

/** Returns values that are expensive for their size, of about so many bytes. */
function worstValues(bytes: number): Record<string, string> {
  const values = valuesIn(bytes);
  const most = (item: string, each: number): number => Math.min(values / each, bytes / (item.length + 1));
  const names = Array.from({ length: Math.min(NAMES, bytes / 12) }, (_, index) => `"${index.toString(36)}":0`);
  return {
    'numbers, beyond all limits': list('0', bytes / 2),
    'numbers, as many as may be': list('0', most('0', 1)),
    'empty objects': list('{}', most('{}', 2)),
    'small records': list('{"a":1,"b":"2"}', most('{"a":1,"b":"2"}', 4)),
    'different names': `{${names.join()}}`,
    'deep lists': list(deep(DEEPEST - 100), Math.max(1, Math.min(values / DEEPEST, bytes / (2 * DEEPEST)))),
    'one list, deeper than allowed': deep(bytes / 2),
    'one text': `"${'x'.repeat(bytes - 2)}"`,
    'one text that needs two bytes a character': `"${'é'.repeat(bytes / 2 - 2)}"`,
  };
}

/** Returns a value that the schema takes, for each field that a body must have. */
export type Needed = (name: string) => unknown;

/** Returns bodies of at most so many bytes: each expensive value as the whole body, and in each kind of field. */
export function worstBodies(schema: Schema, bytes: number, needed: Needed): Shape[] {
  const fields = fieldsOf(schema.items ?? schema);
  const record = Object.fromEntries((schema.items ?? schema).required?.map((name) => [name, needed(name)]) ?? []);
  const room = bytes - JSON.stringify(record).length - 100;
  return Object.entries(worstValues(room)).flatMap(([name, value]) => [
    { name: `${name} as the body`, body: value },
    ...fields.map((field) => {
      const frame = `${JSON.stringify({ ...record, [field]: undefined }).slice(0, -1)}${Object.keys(record).some((key) => key !== field) ? ',' : ''}"${field}":${value}}`;
      return { name: `${name} in ${field}`, body: schema.items === undefined ? frame : `[${frame}]` };
    }),
  ]);
}

/** Returns one field of each type that the schema has, because fields of one type cost the same. */
function fieldsOf({ properties = {} }: Schema): string[] {
  const byType = new Map<string, string>();
  for (const [name, { type }] of Object.entries(properties)) {
    const kind = String(type);
    if (kind !== 'boolean' && kind !== 'integer' && kind !== 'number' && !byType.has(kind)) byType.set(kind, name);
  }
  return [...byType.values()];
}
