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
      const given = at === 'query' ? withFlags(schema, value as Record<string, unknown>) : value;
      if (!validate(given)) throw new Invalid(fieldErrors(validate, at));
      return given;
    };
  };
}

const FLAGS: Record<string, string> = { '0': 'false', '1': 'true', False: 'false', True: 'true' };

/** Translates flags of a query, which clients also write as 0 and 1, and Python clients as True and False. */
function withFlags(schema: TSchema, query: Record<string, unknown>): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  const entries = Object.entries(query).map(([name, value]) => [
    name,
    properties[name]?.type === 'boolean' ? (FLAGS[String(value)] ?? value) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

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
