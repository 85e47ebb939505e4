import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { sendChanged } from '../../kit/changed-requests.ts';

/* Requests that were good once, with something changed at random, are answered or refused, and never break anything. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const SEED = 20_260_728;

const NEWER = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
  progressToken: 'one',
};

const METHODS = [
  'tools/call',
  'tools/list',
  'server/discover',
  'initialize',
  'ping',
  'notifications/cancelled',
  'resources/read',
];

test('no request makes the server fail, show its insides, or leave anything behind', async () => {
  const { faults, answers } = await sendChanged(`${agent.url}/mcp`, {
    seed: SEED,
    next: (random) => {
      const method = METHODS[Math.floor(random() * METHODS.length)]!;
      const isNewer = random() < 0.6;
      const params = {
        name: 'steps',
        arguments: { left: 1 },
        cursor: 'c3RlcHM',
        requestState: 'v1.x.y',
        ...(isNewer && { _meta: META }),
      };
      const named = { 'mcp-protocol-version': NEWER, 'mcp-method': method, 'mcp-name': 'steps' };
      return {
        method,
        params,
        headers: { accept: 'application/json, text/event-stream', ...(isNewer && named) },
      };
    },
    isMessage: (text) => !text.startsWith('{') || text.includes('"jsonrpc":"2.0"'),
  });
  expect(faults).toEqual([]);
  const statuses = new Set(answers.map(({ status }) => status));
  expect([200, 400, 404].filter((status) => !statuses.has(status))).toEqual([]);
  await expect.poll(() => database.sql('select 1 from gx.thread')).toEqual([]);
  expect(agent.output()).not.toMatch(/a call of a tool failed|request failed/);
});
