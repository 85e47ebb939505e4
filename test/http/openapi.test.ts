import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/routes/openapi.ts';
import { answerJson, buildRouteMaker } from '../../src/http/routes/route.ts';

const Page = Type.Object({ limit: Type.Integer({ default: 10 }), name: Type.String() });
const route = buildRouteMaker()({
  method: 'post',
  path: '/things',
  id: 'things',
  summary: 'Things',
  tag: 'things',
  access: 'open',
  query: Type.Object({ minutes: Type.Number({ exclusiveMinimum: 0, default: 5 }) }),
  body: Page,
  answers: { 200: { description: 'Things.', schema: Page } },
  handler: () => answerJson({}),
});

type Operation = {
  parameters: object[];
  requestBody: { content: Record<string, { schema: object }> };
  responses: Record<number, { description: string; content: Record<string, { schema: object }> }>;
};

const document = openApiDocument(
  [route],
  { title: '', version: '', description: '' },
  {},
  { invalid: {}, problem: {} },
);
const operation = (document['paths'] as Record<string, Record<string, Operation>>)['/things']![
  'post'
]!;

test('what has a default may be left out by a client, and is always there in an answer', () => {
  expect(operation.requestBody.content['application/json']!.schema).toMatchObject({
    required: ['name'],
  });
  expect(operation.responses[200]!.content['application/json']!.schema).toMatchObject({
    required: ['limit', 'name'],
  });
});

test('an open lower bound is spelled the way of OpenAPI 3.0', () => {
  expect(operation.parameters).toMatchObject([
    { required: false, schema: { minimum: 0, exclusiveMinimum: true } },
  ]);
});

test('a route that checks what it is sent tells that it may refuse it', () => {
  expect(operation.responses[422]).toMatchObject({
    description: expect.stringMatching(/\S/) as string,
  });
});
