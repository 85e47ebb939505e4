import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { LANGGRAPH, UsersProject } from '../../kit/users-project.ts';

/* The schemas of graphs as clients get them, from zod and from TypeScript types. */

const here = 'test/agent/graph-types/graphs';
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

type Schemas = Record<string, { properties: Record<string, unknown>; required?: string[] } | null>;

async function schemasOf(agent: AgentProcess, graphId: string): Promise<Schemas> {
  const [assistant] = await agent.client.assistants.search({ graphId });
  const { graph_id, ...schemas } = await agent.client.assistants.getSchemas(
    assistant!.assistant_id,
  );
  expect(graph_id).toBe(graphId);
  return schemas as unknown as Schemas;
}

async function subgraphsOf(
  agent: AgentProcess,
  graphId: string,
  recurse: boolean,
): Promise<Record<string, Schemas>> {
  const [assistant] = await agent.client.assistants.search({ graphId });
  return (await agent.client.assistants.getSubgraphs(assistant!.assistant_id, {
    recurse,
  })) as unknown as Record<string, Schemas>;
}

/** The schemas of a graph of which only the names of its fields are known. */
const named = (state: object, output = state, input = state): object => {
  const [input_schema, output_schema, state_schema] = [input, output, state].map((properties) => ({
    type: 'object',
    properties,
  }));
  return { input_schema, output_schema, state_schema, config_schema: null, context_schema: null };
};
const SUPPORT = named(
  { messages: { type: 'array', langgraph_type: 'messages' }, topic: {}, tickets: {} },
  { tickets: {} },
);
const DEEP = named({ topic: {}, depth: {} });
const messages = { langgraph_type: 'messages' };
const lines = (agent: AgentProcess, words: string): number =>
  agent.output().split(words).length - 1;

describe('in a project with TypeScript', () => {
  let project: UsersProject;
  let agent: AgentProcess;

  beforeAll(async () => {
    project = await UsersProject.make(here, { ...LANGGRAPH, typescript: '5.9.3' });
    agent = await startAgent({ database: database.uri, config: project.path('gx.json') });
  });
  afterAll(async () => {
    await agent.kill();
    await project.remove();
  });

  test('a graph of annotations is described by its types, which are read once', async () => {
    const [support, made] = await Promise.all([
      schemasOf(agent, 'support'),
      schemasOf(agent, 'made'),
    ]);
    expect(support.input_schema).toMatchObject({
      type: 'object',
      properties: { topic: { type: 'string' }, messages },
    });
    expect(Object.keys(support.output_schema!.properties)).toEqual(['tickets']);
    expect(support.context_schema).toMatchObject({
      properties: { model: { enum: ['small', 'large'] } },
      required: ['model'],
    });
    expect(support.config_schema).toEqual(support.context_schema);
    expect(made).toEqual(support);
    await expect.poll(() => lines(agent, 'types of the graphs are read')).toBe(1);
  });

  test('so are its subgraphs', async () => {
    expect(Object.keys(await subgraphsOf(agent, 'support', false))).toEqual(['dig', 'ask']);
    const subgraphs = await subgraphsOf(agent, 'support', true);
    expect(Object.keys(subgraphs)).toEqual(['dig', 'dig|deepest', 'ask']);
    for (const schemas of Object.values(subgraphs))
      expect(schemas).toMatchObject({
        input_schema: { properties: { depth: { type: 'number' } } },
      });
  });

  test.each(['registered', 'registered-3'])(
    'what was registered beside a zod state is part of its schemas (%s)',
    async (graph) => {
      const schemas = await schemasOf(agent, graph);
      const prompt = {
        type: 'string',
        description: 'What to do.',
        langgraph_nodes: ['talk'],
        langgraph_type: 'prompt',
      };
      for (const name of ['input_schema', 'output_schema', 'state_schema'])
        expect(schemas[name]).toMatchObject({
          properties: { messages, prompt, model: { enum: ['small', 'large'] } },
        });
      expect(schemas['state_schema']!.required).toContain('model');
      expect(schemas['input_schema']).not.toHaveProperty('required');
    },
  );

  test('a context in zod is described with its defaults', async () => {
    const { context_schema, config_schema } = await schemasOf(agent, 'registered');
    expect(context_schema).toMatchObject({
      type: 'object',
      properties: { tone: { type: 'string', default: 'kind' } },
    });
    expect(context_schema).not.toHaveProperty('required');
    expect(config_schema).toEqual(context_schema);
  });

  test('the fields of a StateSchema bring what they were made with', async () => {
    const { input_schema: input } = await schemasOf(agent, 'fields');
    expect(input).toMatchObject({
      properties: {
        messages,
        count: { type: 'number', title: 'How many' },
        topic: { type: 'string' },
      },
    });
  });
});

test('without TypeScript the schemas of such a graph name its fields, and one line of the log says why', async () => {
  const project = await UsersProject.make(here, LANGGRAPH);
  const agent = await startAgent({ database: database.uri, config: project.path('gx.json') });
  expect([await schemasOf(agent, 'support'), await schemasOf(agent, 'made')]).toEqual([
    SUPPORT,
    SUPPORT,
  ]);
  expect(await subgraphsOf(agent, 'support', false)).toEqual({ dig: DEEP, ask: DEEP });
  expect(await schemasOf(agent, 'registered')).toMatchObject({
    input_schema: { properties: { messages } },
  });
  await agent.kill();
  expect(lines(agent, 'no TypeScript 5 or 6')).toBe(1);
  await project.remove();
});

test('of types that can not be read in time the fields are named, and a line of the log says so', async () => {
  const project = await UsersProject.make(here, { ...LANGGRAPH, typescript: '5.9.3' });
  const env = { LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS: '5' };
  const agent = await startAgent({ database: database.uri, config: project.path('gx.json'), env });
  expect(await schemasOf(agent, 'support')).toEqual(SUPPORT);
  await agent.kill();
  expect(lines(agent, 'no answer within 0.005 s')).toBeGreaterThan(0);
  await project.remove();
});

test('what the build of an image reads is there without TypeScript', async () => {
  const project = await UsersProject.make(here, { ...LANGGRAPH, typescript: '5.9.3' });
  const env = { GX_CONFIG: project.path('gx.json'), GX_BUILD_FOLDER: project.path('.build') };
  await promisify(execFile)(process.execPath, ['src/main.ts', 'agent-build'], { env });
  await project.replacePackages(LANGGRAPH);
  const agent = await startAgent({ database: database.uri, config: project.path('gx.json'), env });
  expect(await schemasOf(agent, 'support')).toMatchObject({
    input_schema: { properties: { topic: { type: 'string' }, messages } },
  });
  await agent.kill();
  await project.remove();
});
