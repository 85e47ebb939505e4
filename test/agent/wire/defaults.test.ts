import { afterAll, beforeAll, expect, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* LANGGRAPH_CONFIG sets the config of runs of a graph's own assistant where a run says nothing. */

let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

const config = 'test/agent/wire/defaults/gx.json';

async function served(
  value: object | undefined,
  use: (agent: AgentProcess) => Promise<void>,
): Promise<void> {
  const env: Record<string, string> =
    value === undefined ? {} : { LANGGRAPH_CONFIG: JSON.stringify(value) };
  const agent = await startAgent({ database: database.uri, config, env });
  await use(agent).finally(() => agent.kill());
}

const sizeOfRun = (agent: AgentProcess, fields: object = {}): Promise<unknown> =>
  agent.client.runs.wait(null, 'made', { input: {}, ...fields });

const ownOf = async ({ client }: AgentProcess): Promise<object> =>
  (await client.assistants.search({ graphId: 'made' }))[0]!;

test('env of gx.json gives defaults, the environment of a deployment others, which a run may change', async () => {
  await served(undefined, async (agent) => {
    expect(await ownOf(agent)).toMatchObject({
      config: { tags: ['small'], configurable: { size: 'tiny' } },
      context: { size: 'tiny' },
    });
    expect(await sizeOfRun(agent)).toEqual({ size: 'tiny' });
  });
  await served({ made: { context: { size: 'huge' } } }, async (agent) => {
    expect(await ownOf(agent)).toMatchObject({
      version: 1,
      config: { configurable: { size: 'huge' } },
      context: { size: 'huge' },
    });
    expect(await sizeOfRun(agent)).toEqual({ size: 'huge' });
    expect(await sizeOfRun(agent, { context: { size: 'other' } })).toEqual({ size: 'other' });
    const { assistants } = agent.client;
    const { assistant_id } = (await assistants.search({ graphId: 'made' }))[0]!;
    expect(await assistants.getVersions(assistant_id)).toMatchObject([
      { version: 1, context: { size: 'huge' } },
    ]);
  });
});

test('a version that a client made stays', async () => {
  await served({ made: { context: { size: 'huge' } } }, async ({ client }) => {
    const { assistant_id } = (await client.assistants.search({ graphId: 'made' }))[0]!;
    await client.assistants.update(assistant_id, { context: { size: 'chosen' } });
  });
  await served({ made: { context: { size: 'vast' } } }, async (agent) => {
    expect(await ownOf(agent)).toMatchObject({ version: 2, context: { size: 'chosen' } });
    expect(await sizeOfRun(agent)).toEqual({ size: 'chosen' });
  });
});

test('what can not be honoured stops the start', async () => {
  const { code, output } = await failedStart({
    database: database.uri,
    config,
    env: { LANGGRAPH_CONFIG: '{"made":3}' },
  });
  expect(code).not.toBe(0);
  expect(output).toContain('LANGGRAPH_CONFIG must have an object for the graph "made"');
});

test('a graph that a revision no longer has is named in the log', async () => {
  await served({ made: { context: { size: 'huge' } }, gone: {} }, async (agent) => {
    await until('the log names it', () =>
      agent.output().includes('LANGGRAPH_CONFIG names graphs that this server does not have'),
    );
    await expect.poll(() => agent.output()).toContain('"graphs":["gone"]');
  });
});
