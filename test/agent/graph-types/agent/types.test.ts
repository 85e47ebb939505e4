import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readGraphsFile } from '../../../../src/agent/gx-json/read.ts';
import type { SchemasByGraph } from '../../../../src/agent/graph-types/main.ts';
import { readTypes } from '../../../../src/agent/graph-types/typed-schemas.ts';
import { LANGGRAPH, UsersProject } from '../../../kit/users-project.ts';

/* What the types of graphs say, read with the TypeScript of the user's project. */

const here = 'test/agent/graph-types/graphs';
const read = async (
  project: UsersProject,
  signal = new AbortController().signal,
  within = 60_000,
): Promise<SchemasByGraph | undefined> => {
  const { graphs, folder } = readGraphsFile(project.path('gx.json'));
  return readTypes({ graphs, folder, within }, signal);
};

const text = { type: 'string' };
const number = { type: 'number' };
const flag = { type: 'boolean' };
const made = { type: 'string', format: 'date-time', description: 'When it was made.' };
const ref = (name: string): object => ({ $ref: `#/definitions/${name}` });
const list = (items: object): object => ({ type: 'array', items });
const object = (properties: object, required = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

/** The fields of `shapes.ts`, in its order. A type that refers to itself without a name ends after three levels. */
const PROPERTIES = {
  text,
  maybe: text,
  orNull: { anyOf: [{ type: 'null' }, number] },
  yes: { type: 'boolean', enum: [true] },
  flag,
  choice: { anyOf: [{ type: ['string', 'number'], enum: ['a', 'b', 7] }, flag] },
  size: { type: 'number', enum: [1, 2] },
  big: text,
  anything: {},
  pair: { type: 'array', items: [number, text], minItems: 1, maxItems: 2 },
  rest: { type: 'array', items: [number], minItems: 1 },
  frozen: list(number),
  record: { type: 'object', properties: {}, additionalProperties: number },
  map: {},
  tree: ref('Tree'),
  leaf: ref('Leaf'),
  json: ref('Json'),
  nest: { anyOf: [number, list({ anyOf: [number, list({ anyOf: [number, list({})] })] })] },
  box: object(
    {
      held: text,
      other: object(
        { held: list(text), other: object({ held: list(list(text)), other: {} }, ['held']) },
        ['held'],
      ),
    },
    ['held'],
  ),
  item: ref('Item'),
  both: object({ made, extra: text }),
  part: object({ key: text, made }, []),
  secretive: ref('Secretive'),
  last: ref('BaseMessage'),
  history: { type: 'array', items: ref('BaseMessage'), langgraph_type: 'messages' },
};
const DEFINITIONS = {
  Tree: object({ name: text, children: list(ref('Tree')) }),
  Leaf: { anyOf: [object({ leaf: flag }), object({ more: ref('Leaf') })] },
  Json: {
    anyOf: [
      { type: 'null' },
      text,
      number,
      list(ref('Json')),
      { type: 'object', properties: {}, additionalProperties: ref('Json') },
    ],
  },
  Item: object({ key: text, made }),
  Secretive: object({ shown: number }),
  BaseMessage: { type: 'object', properties: { type: text, content: {}, id: text, name: text } },
};

describe.each(['5.9.3', '6.0.3'])('with TypeScript %s', (typescript) => {
  let project: UsersProject;
  let schemas: SchemasByGraph;

  beforeAll(async () => {
    project = await UsersProject.make(here, { ...LANGGRAPH, typescript });
    schemas = (await read(project))!;
  });
  afterAll(() => project.remove());

  const ticket = {
    type: 'object',
    properties: {
      id: { type: 'number' },
      kind: { type: 'string', enum: ['bug', 'wish'] },
      note: { type: 'string' },
    },
    required: ['id', 'kind'],
  };

  test('a graph of annotations has schemas of input, output, state and context', () => {
    const {
      input_schema: input,
      output_schema: output,
      state_schema: state,
      context_schema: context,
      config_schema: config,
    } = schemas['support']!['']!;
    expect(input).toMatchObject({
      type: 'object',
      properties: {
        topic: { type: 'string' },
        tickets: {
          type: 'array',
          items: { $ref: '#/definitions/Ticket' },
          description: 'Those that are not done.',
        },
        messages: {
          type: 'array',
          items: { $ref: '#/definitions/BaseMessage' },
          langgraph_type: 'messages',
        },
      },
      definitions: { Ticket: ticket, BaseMessage: { type: 'object' } },
      $schema: 'http://json-schema.org/draft-07/schema#',
    });
    expect(input).not.toHaveProperty('required');
    expect(Object.keys(output!['properties'] as object)).toEqual(['tickets']);
    expect((state!['required'] as string[]).toSorted()).toEqual(['messages', 'tickets', 'topic']);
    expect(context).toEqual({
      type: 'object',
      properties: { model: { type: 'string', enum: ['small', 'large'] }, tone: { type: 'string' } },
      required: ['model'],
      $schema: 'http://json-schema.org/draft-07/schema#',
    });
    expect(config).toEqual(context);
  });

  test('a builder, a function that makes the graph, and an export from another file say the same', () => {
    for (const graph of ['builder', 'made', 'renamed'])
      expect(schemas[graph]!['']).toEqual(schemas['support']!['']!);
  });

  test('subgraphs are found where they are nodes, and where a node names them', () => {
    for (const graph of ['support', 'builder', 'renamed'])
      expect(Object.keys(schemas[graph]!).toSorted()).toEqual(['', 'ask', 'dig', 'dig|deepest']);
    const depth = { topic: { type: 'string' }, depth: { type: 'number' } };
    expect(schemas['support']!['dig|deepest']!.input_schema).toMatchObject({ properties: depth });
  });

  test('each form of type has its form of schema, and what JSON does not have is left out', () => {
    const { properties, required, definitions } = schemas['shapes']!['']!.state_schema as Record<
      string,
      Record<string, unknown>
    >;
    expect(properties).toEqual(PROPERTIES);
    expect(definitions).toEqual(DEFINITIONS);
    const absent = Object.keys(properties!).filter(
      (name) => !(required as unknown as string[]).includes(name),
    );
    expect(absent).toEqual(['maybe']);
  });
});

test('without TypeScript there is nothing to read with, and a newer one has no words that we know', async () => {
  for (const packages of [LANGGRAPH, { ...LANGGRAPH, typescript: '7.0.2' }]) {
    const project = await UsersProject.make(here, packages);
    expect(await read(project)).toBeUndefined();
    await project.remove();
  }
});

test('what takes longer than its time is ended', async () => {
  const project = await UsersProject.make(here, { ...LANGGRAPH, typescript: '5.9.3' });
  await expect(read(project, undefined, 5)).rejects.toThrow('no answer within 0.005 s');
  await expect(read(project, AbortSignal.timeout(5))).rejects.toThrow();
  await project.remove();
});
