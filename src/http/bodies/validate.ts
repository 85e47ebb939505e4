import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { Invalid, MOST_FAULTS, type FieldError } from '../../errors.ts';
import { isComposite } from '../../schema/json.ts';
import { describeNearestName } from '../../nearest-name.ts';
import { shareSchemaParts } from './shared-schemas.ts';

type Loc = 'body' | 'query' | 'path';

const options = {
  strict: true,
  // Schemas are our own, made by TypeBox. A check of them compiles the schema of schemas for each engine.
  validateSchema: false,
  strictTypes: false,
  allowUnionTypes: true,
  discriminator: false,
  useDefaults: true,
  // A part that was taken out to be written once stays out.
  inlineRefs: false,
  // Passes over the code that was written take two thirds of a compile, and the engine does the same work as it runs.
  code: { optimize: false },
} as const;

/** Keywords of Kubernetes and OpenAPI that ajv does not know. */
const foreignKeywords = [
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
  'x-kubernetes-validations',
  'x-kubernetes-map-type',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'example',
];

function buildEngine({ coerce, allErrors }: { coerce: boolean; allErrors: boolean }): Ajv {
  const ajv = new Ajv({ ...options, allErrors, coerceTypes: coerce ? 'array' : false });
  addFormats.default(ajv);
  for (const keyword of foreignKeywords) ajv.addKeyword(keyword);
  return ajv;
}

/**
 * Checks a value against a schema, fills in defaults, and throws `Invalid` with an entry for each of the first
 * faults.
 */
export type Check = (value: unknown, at: Loc) => unknown;

/**
 * Returns a compiler of checks. Each server has one, because it caches compiled schemas. Text in paths and queries is
 * coerced to the schema's types. `listItems` bounds the lists of bodies whose schema gives no bound of its own.
 */
export function createValidator({ listItems }: { listItems?: number } = {}): (
  schema: TSchema,
  kind: Loc,
) => Check {
  const strict = buildEngines(false);
  const coercing = buildEngines(true);
  return (schema, kind) => {
    const bounded =
      kind === 'body' && listItems !== undefined
        ? (boundLists(schema, listItems) as TSchema)
        : schema;
    const faultsOf = buildChecker(kind === 'body' ? strict : coercing, bounded);
    return (value, at) => {
      const given = at === 'query' ? parseClientQuery(schema, value as Query) : value;
      const faults = faultsOf(given);
      if (faults.length > 0)
        throw new Invalid(faults.map((fault) => toFieldError(fault, at, schema)));
      return given;
    };
  };
}

const buildEngines = (coerce: boolean): { first: Ajv; all: Ajv } => ({
  first: buildEngine({ coerce, allErrors: false }),
  all: buildEngine({ coerce, allErrors: true }),
});

/** Returns the schema with a bound on each list that has none. */
function boundLists(schema: unknown, listItems: number): unknown {
  if (Array.isArray(schema)) return schema.map((part) => boundLists(part, listItems));
  if (!isComposite(schema)) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, boundLists(part, listItems)]),
  );
  return copy['type'] === 'array' && copy['items'] !== undefined
    ? { maxItems: listItems, ...copy }
    : copy;
}

/**
 * Returns a function that finds the first faults of a value. The first one ends the check of the whole value: a list of
 * a million wrong items costs no more than one. The others are looked for in a part of the value that has a bound.
 */
function buildChecker(
  { first, all }: { first: Ajv; all: Ajv },
  schema: TSchema,
): (value: unknown) => ErrorObject[] {
  // A schema is compiled for the first value that it sees, and once more for the first fault. To compile those of all
  // routes takes a third of a server's start, and most routes of a server are never asked.
  let validate: ValidateFunction | undefined;
  let validateAll: ValidateFunction | undefined;
  let shared: object | undefined;
  return (value) => {
    validate ??= first.compile((shared ??= shareSchemaParts(schema)));
    if (validate(value)) return [];
    const faults = stripIfErrors(validate.errors);
    const part = { left: MOST_PARTS };
    const sample = copySample(value, part);
    if (part.left < 0) return faults;
    validateAll ??= all.compile((shared ??= shareSchemaParts(schema)));
    if (validateAll(sample)) return faults;
    const others = stripIfErrors(validateAll.errors);
    const isRepeated = others.some((other) =>
      faults.some((fault) => other.instancePath === fault.instancePath),
    );
    return (isRepeated ? others : [...faults, ...others]).slice(0, MOST_FAULTS);
  };
}

const stripIfErrors = (errors: ErrorObject[] | null | undefined): ErrorObject[] =>
  (errors ?? []).filter((error) => error.keyword !== 'if');

/** Objects, lists, fields and items that are looked at for more faults than the first. */
const MOST_PARTS = 5000;

/**
 * Returns a copy of the value with the first items of each list. `part.left` is negative when the value is too large.
 */
function copySample(value: unknown, part: { left: number }): unknown {
  part.left -= 1;
  if (!isComposite(value) || part.left < 0) return value;
  if (Array.isArray(value))
    return value.slice(0, MOST_FAULTS).map((item) => copySample(item, part));
  const names = Object.keys(value);
  if (names.length > part.left) part.left = -1;
  if (part.left < 0) return value;
  return Object.fromEntries(names.map((name) => [name, copySample(value[name], part)]));
}

const FLAGS: Record<string, string> = { '0': 'false', '1': 'true', False: 'false', True: 'true' };

type Query = Record<string, unknown>;
type Field = { type?: string; enum?: unknown[]; format?: string; items?: Field };

/**
 * Reads a query as official clients write it. Flags are 0 and 1, too, and those in Python True and False. A field that
 * can't be an empty text is left out when its value is one: a client that has no value sends it so.
 */
function parseClientQuery(schema: TSchema, query: Query): Query {
  const { properties = {} } = schema as { properties?: Record<string, Field> };
  const read = ([name, value]: [string, unknown]): [string, unknown][] => {
    const field = properties[name];
    if (field === undefined || mayBeEmpty(field.items ?? field)) return [[name, value]];
    const given = [value].flat().filter((text) => text !== '');
    if (given.length === 0) return [];
    const texts =
      field.type === 'boolean' ? given.map((text) => FLAGS[String(text)] ?? text) : given;
    return [[name, texts.length === 1 ? texts[0] : texts]];
  };
  return Object.fromEntries(Object.entries(query).flatMap(read));
}

const mayBeEmpty = ({ type, enum: words, format }: Field): boolean =>
  type === 'string' && words === undefined && format === undefined;

/** ajv's keyword -> the `type` word that FastAPI's clients know. */
const TYPE_WORDS: Record<string, string> = {
  required: 'missing',
  additionalProperties: 'extra_forbidden',
  unevaluatedProperties: 'extra_forbidden',
  enum: 'enum',
  const: 'literal_error',
  minLength: 'string_too_short',
  maxLength: 'string_too_long',
  pattern: 'string_pattern_mismatch',
  minimum: 'greater_than_equal',
  maximum: 'less_than_equal',
  exclusiveMinimum: 'greater_than',
  minItems: 'too_short',
  maxItems: 'too_long',
  maxProperties: 'too_long',
  multipleOf: 'multiple_of',
};

/** Returns one ajv error as the `ValidationError` of the REST API. */
function toFieldError(error: ErrorObject, at: Loc, schema: TSchema): FieldError {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const params = error.params as Record<string, unknown>;
  const extra = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  return {
    loc: [at, ...path, ...(typeof extra === 'string' ? [extra] : [])],
    msg:
      typeof extra === 'string' && error.keyword !== 'required'
        ? explainUnknownField(extra, path, schema)
        : describeError(error, params),
    type:
      error.keyword === 'type'
        ? `${String(params.type)}_type`
        : error.keyword === 'format'
          ? `${String(params.format)}_parsing`
          : (TYPE_WORDS[error.keyword] ?? error.keyword),
  };
}

function describeError(error: ErrorObject, params: Record<string, unknown>): string {
  if (error.keyword === 'required') return 'Field required';
  if (error.keyword === 'enum')
    return `must be one of ${(params.allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`;
  return error.message ?? 'is not valid';
}

type Described = {
  properties?: Record<string, Described>;
  additionalProperties?: unknown;
  items?: unknown;
};

/** Longest name that is compared with others. */
const LONGEST_COMPARED = 60;

function explainUnknownField(name: string, path: (string | number)[], schema: TSchema): string {
  let place: Described | undefined = schema;
  for (const part of path)
    place = (
      typeof part === 'number'
        ? place?.items
        : (place?.properties?.[part] ?? place?.additionalProperties)
    ) as Described | undefined;
  const names = Object.keys(place?.properties ?? {});
  return `Unknown field${name.length > LONGEST_COMPARED ? '' : describeNearestName(name, names)}`;
}
