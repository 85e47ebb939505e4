/* Bodies that no route may accept, made from what the OpenAPI document says of each route. */

export type Schema = {
  type?: string | string[];
  nullable?: boolean;
  enum?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  maxProperties?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
};

export type Fault = { what: string; text: string | Uint8Array; status: number };

const DEEP = 10_000;
const KEYS = 10_000;

/**
 * Values that can't be kept as they were sent, wherever they stand. They are JSON text, because JSON.stringify can't
 * write some of them.
 */
const UNSTORABLE: Record<string, string> = {
  'a NUL character': String.raw`"a\u0000b"`,
  'half of a surrogate pair': String.raw`"a\ud800b"`,
  'a name with a NUL character': String.raw`{"a\u0000b": 1}`,
  'a number beyond a double': '1e400',
  'a negative number beyond a double': '-1e400',
  'ten thousand lists in each other': '['.repeat(DEEP) + ']'.repeat(DEEP),
  'ten thousand objects in each other': '{"a":'.repeat(DEEP) + '1' + '}'.repeat(DEEP),
  'a prototype': '{"__proto__": {"isAdmin": true}}',
  "a constructor's prototype": '{"constructor": {"prototype": {"isAdmin": true}}}',
};

/** One value of each type. */
const VALUES: Record<string, unknown> = {
  string: 'colour',
  number: 7,
  boolean: true,
  array: [[]],
  object: { a: 1 },
  null: null,
};

const manyKeys = (): object =>
  Object.fromEntries(Array.from({ length: KEYS }, (_, at) => [`key${at}`, at]));

/** Returns the faults of a body as a whole, whatever its fields are. `base` is a valid body. */
export function faultsOfTheWhole(
  schema: Schema,
  base: unknown,
  { limit }: { limit: number },
): Fault[] {
  return [
    ...ofTheWhole(schema, base, limit),
    ...Object.entries(UNSTORABLE).map(([what, text]) =>
      refused(`${what} in an unknown field`, withText(base, 'extra', text)),
    ),
  ];
}

const refused = (what: string, text: string | Uint8Array): Fault => ({ what, text, status: 422 });

function ofTheWhole(schema: Schema, base: unknown, limit: number): Fault[] {
  const text = JSON.stringify(base);
  return [
    refused('half a body', text.slice(0, -1)),
    refused('two bodies', text + text),
    refused('bytes that are no text', Uint8Array.of(...Buffer.from(text.slice(0, -1)), 0xff, 0xfe)),
    ...wrong(schema).map(([what, value]) =>
      refused(`a body that is ${what}`, JSON.stringify(value)),
    ),
    {
      what: 'a body over the limit',
      text: withText(base, 'extra', `"${'x'.repeat(limit)}"`),
      status: 413,
    },
  ];
}

/** Returns the body with one more field, whose value is JSON text. In a list, the first element gets the field. */
function withText(base: unknown, name: string, text: string): string {
  const one = Array.isArray(base) ? (base as unknown[])[0] : base;
  const changed = JSON.stringify({ ...(one as object), [name]: '@' }).replace('"@"', () => text);
  return Array.isArray(base) ? `[${changed}]` : changed;
}

/** Returns the faults of each of the body's fields. */
export function faultsOfFields(schema: Schema, base: unknown): Fault[] {
  if (Array.isArray(base)) {
    const [first] = base as unknown[];
    return faultsOfFields(schema.items!, first).map(({ text, ...fault }) => ({
      ...fault,
      text: `[${text as string}]`,
    }));
  }
  const fields = Object.entries(schema.properties ?? {});
  const needed = (schema.required ?? []).map((name) => {
    const { [name]: _, ...rest } = base as Record<string, unknown>;
    return refused(`no ${name}`, JSON.stringify(rest));
  });
  const types = fields.flatMap(([name, field]) =>
    wrong(field).map(([what, value]) =>
      refused(`${name} as ${what}`, JSON.stringify({ ...(base as object), [name]: value })),
    ),
  );
  const free = fields.filter(
    ([, field]) => accepts(field, 'object') && field.properties === undefined,
  );
  const unstorable = free.map(([name]) =>
    refused(`a NUL character in ${name}`, withText(base, name, String.raw`{"a": "a\u0000b"}`)),
  );
  return [...needed, ...types, ...unstorable];
}

function accepts(schema: Schema, type: string): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => accepts(one, type));
  if (type === 'null') return schema.nullable === true || schema.type === undefined;
  if (schema.type === undefined)
    return schema.enum === undefined || schema.enum.some((word) => typeof word === type);
  return [schema.type]
    .flat()
    .some((own) => own === type || (own === 'integer' && type === 'number'));
}

/** Returns values that the schema does not allow, each with a description. Values for its parts are included. */
function wrong(schema: Schema): [what: string, value: unknown][] {
  const types = Object.entries(VALUES).filter(([type]) => !accepts(schema, type));
  const items = schema.items === undefined ? [] : wrong(schema.items);
  const parts = Object.entries(schema.properties ?? {});
  return [
    ...types,
    ...outside(schema),
    ...items.map(([what, value]): [string, unknown] => [`a list with ${what}`, [value]]),
    ...parts.flatMap(([name, part]) =>
      wrong(part).map(([what, value]): [string, unknown] => [
        `an object whose ${name} is ${what}`,
        { [name]: value },
      ]),
    ),
  ];
}

/** Values of the right type that break a rule. */
function outside(schema: Schema): [what: string, value: unknown][] {
  const found: [string, unknown][] = [];
  if (schema.enum !== undefined && accepts(schema, 'string'))
    found.push(['an unknown word', 'colour']);
  if (schema.format === 'uuid') found.push(['no uuid', 'colour']);
  if (schema.type === 'integer') found.push(['a fraction', 1.5]);
  if (schema.minimum !== undefined) found.push(['too small a number', schema.minimum - 1]);
  if (schema.maximum !== undefined) found.push(['too large a number', schema.maximum * 2]);
  if (schema.maxProperties !== undefined) found.push(['ten thousand keys', manyKeys()]);
  return found;
}
