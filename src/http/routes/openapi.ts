import type { AnswerDescription, Route } from './route.ts';
import { type Json, isComposite } from '../../schema/json.ts';

/**
 * Returns the routes as an OpenAPI 3.0.3 document, made of the schemas that validate. `security` names the schemes that
 * guard routes that are not open.
 */
export function openApiDocument<Caller>(
  routes: Route<Caller>[],
  info: { title: string; version: string; description: string },
  security: Json,
  errorSchemas: { invalid: object; problem: object },
): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = (paths[route.path] ??= {});
    path[route.method] = buildOperation(route, Object.keys(security));
  }
  return {
    openapi: '3.0.3',
    info,
    paths,
    components: {
      securitySchemes: security,
      schemas: { ValidationProblem: errorSchemas.invalid, Problem: errorSchemas.problem },
    },
  };
}

function buildOperation<Caller>(route: Route<Caller>, schemes: string[]): Json {
  const responses: Json = {};
  const checked = route.params ?? route.query ?? route.body;
  for (const [status, answer] of Object.entries({
    ...(checked && { 422: NOT_VALID }),
    ...(route.body && { 413: TOO_LARGE }),
    ...route.answers,
  })) {
    const schema = answer.schema ?? getDefaultSchema(Number(status));
    responses[status] = {
      description: answer.description,
      ...(answer.headers && {
        headers: Object.fromEntries(
          Object.entries(answer.headers).map(([name, description]) => [
            name,
            { description, schema: { type: 'string' } },
          ]),
        ),
      }),
      ...(schema && { content: buildContent(answer, toOpenApiSchema(schema, { sent: false })) }),
    };
  }
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [route.tag],
    ...(route.access === 'open'
      ? { security: [] }
      : { security: schemes.map((name) => ({ [name]: [] })) }),
    parameters: [
      ...buildParameters(route.params, 'path'),
      ...buildParameters(route.query, 'query'),
      ...buildParameters(route.headers, 'header'),
    ],
    ...(route.body && {
      requestBody: {
        required: route.bodyOptional !== true,
        content: { 'application/json': { schema: toOpenApiSchema(route.body, { sent: true }) } },
      },
    }),
    responses,
  };
}

const buildContent = (
  { contentType = 'application/json', streams }: AnswerDescription,
  schema: unknown,
): Json => ({
  [contentType]: { schema },
  ...(streams && {
    'text/event-stream': { schema: { description: 'Events, each with such an answer.' } },
  }),
});

const NOT_VALID: AnswerDescription = { description: 'Not valid.' };
const TOO_LARGE: AnswerDescription = { description: 'The body is too large.' };

/**
 * Converts a schema to OpenAPI 3.0, where an open lower bound is a flag beside `minimum`. In a client's input, a
 * field with a default may be left out, because it is filled in before the handler sees it.
 */
function toOpenApiSchema(schema: unknown, at: { sent: boolean }): unknown {
  if (Array.isArray(schema)) return schema.map((part) => toOpenApiSchema(part, at));
  if (!isComposite(schema)) return schema;
  const fields = (schema['properties'] ?? {}) as Record<string, Json | undefined>;
  const isNeeded = (name: unknown): boolean =>
    !at.sent || fields[name as string]?.['default'] === undefined;
  const entries = Object.entries(schema).flatMap(
    ([name, part]: [string, unknown]): [string, unknown][] => {
      if (name === 'enum') return [[name, part]];
      if (name === 'exclusiveMinimum' && typeof part === 'number')
        return [
          ['minimum', part],
          [name, true],
        ];
      if (name !== 'required' || !Array.isArray(part)) return [[name, toOpenApiSchema(part, at)]];
      const needed = part.filter(isNeeded);
      return needed.length > 0 ? [[name, needed]] : [];
    },
  );
  return Object.fromEntries(entries);
}

function getDefaultSchema(status: number): Json | undefined {
  if (status === 422) return { $ref: '#/components/schemas/ValidationProblem' };
  return status >= 400 ? { $ref: '#/components/schemas/Problem' } : undefined;
}

function buildParameters(schema: unknown, where: 'path' | 'query' | 'header'): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || (required.includes(name) && property.default === undefined),
    schema: toOpenApiSchema(property, { sent: true }),
  }));
}
