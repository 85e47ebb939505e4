import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { Invalid, type FieldError } from '../errors.ts';

type Loc = 'body' | 'query' | 'path';

const options = {
  allErrors: true,
  strict: true,
  strictTypes: false,
  allowUnionTypes: true,
  discriminator: false,
  useDefaults: true,
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

function engine(coerce: boolean): Ajv {
  const ajv = new Ajv({ ...options, coerceTypes: coerce ? 'array' : false });
  addFormats.default(ajv);
  for (const keyword of foreignKeywords) ajv.addKeyword(keyword);
  return ajv;
}

/** Checks a value against a schema, fills in defaults, and throws `Invalid` with one entry per fault. */
export type Check = (value: unknown, at: Loc) => unknown;

/**
 * Returns a compiler of checks. Each server has one, because it caches compiled schemas. Text in paths and queries is
 * coerced to the schema's types.
 */
export function createValidator(): (schema: TSchema, kind: Loc) => Check {
  const strict = engine(false);
  const coercing = engine(true);
  return (schema, kind) => {
    const validate = (kind === 'body' ? strict : coercing).compile(schema);
    return (value, at) => {
      const given = at === 'query' ? asClientsWrite(schema, value as Query) : value;
      if (!validate(given)) throw new Invalid(fieldErrors(validate, at));
      return given;
    };
  };
}

const FLAGS: Record<string, string> = { '0': 'false', '1': 'true', False: 'false', True: 'true' };

type Query = Record<string, unknown>;
type Field = { type?: string; enum?: unknown[]; format?: string; items?: Field };

/**
 * Reads a query as official clients write it. Flags are 0 and 1, too, and those in Python True and False. A field that
 * can't be an empty text is left out when its value is one: a client that has no value sends it so.
 */
function asClientsWrite(schema: TSchema, query: Query): Query {
  const { properties = {} } = schema as { properties?: Record<string, Field> };
  const read = ([name, value]: [string, unknown]): [string, unknown][] => {
    const field = properties[name];
    if (field === undefined || takesEmptyText(field.items ?? field)) return [[name, value]];
    const given = [value].flat().filter((text) => text !== '');
    if (given.length === 0) return [];
    const texts = field.type === 'boolean' ? given.map((text) => FLAGS[String(text)] ?? text) : given;
    return [[name, texts.length === 1 ? texts[0] : texts]];
  };
  return Object.fromEntries(Object.entries(query).flatMap(read));
}

const takesEmptyText = ({ type, enum: words, format }: Field): boolean => type === 'string' && words === undefined && format === undefined;

function fieldErrors(validate: ValidateFunction, at: Loc): FieldError[] {
  return (validate.errors ?? []).filter((error) => error.keyword !== 'if').map((error) => fieldError(error, at));
}

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
function fieldError(error: ErrorObject, at: Loc): FieldError {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const params = error.params as Record<string, unknown>;
  const extra = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  return {
    loc: [at, ...path, ...(typeof extra === 'string' ? [extra] : [])],
    msg: message(error, params),
    type:
      error.keyword === 'type'
        ? `${String(params.type)}_type`
        : error.keyword === 'format'
          ? `${String(params.format)}_parsing`
          : (TYPE_WORDS[error.keyword] ?? error.keyword),
  };
}

function message(error: ErrorObject, params: Record<string, unknown>): string {
  if (error.keyword === 'required') return 'Field required';
  if (error.keyword === 'additionalProperties') return 'Unknown field';
  if (error.keyword === 'enum')
    return `must be one of ${(params.allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`;
  return error.message ?? 'is not valid';
}
