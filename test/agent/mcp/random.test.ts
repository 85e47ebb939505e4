import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { changed, randomFrom } from '../../kit/random-changes.ts';

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

const REQUESTS = 600;
/** The same requests each time, so that a failure can be repeated. */
const SEED = 20_260_728;

const NEWER = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
  progressToken: 'one',
};

const METHODS = ['tools/call', 'tools/list', 'server/discover', 'initialize', 'ping', 'notifications/cancelled', 'resources/read'];
async function post(message: unknown, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  const response = await fetch(`${agent.url}/mcp`, { method: 'POST', headers: all, body: JSON.stringify(message) });
  return { status: response.status, text: await response.text() };
}

/** Returns true for an answer that is no message of the protocol, or shows the server's insides. */
const isOdd = (text: string): boolean =>
  /node_modules|\.ts:\d|\n {4}at /.test(text) || (text.startsWith('{') && !text.includes('"jsonrpc":"2.0"'));

test('no request makes the server fail, show its insides, or leave anything behind', async () => {
  const random = randomFrom(SEED);
  const statuses = new Set<number>();
  const faults: string[] = [];
  for (let index = 0; index < REQUESTS; index += 1) {
    const method = METHODS[Math.floor(random() * METHODS.length)]!;
    const isNewer = random() < 0.6;
    const params = { name: 'steps', arguments: { left: 1 }, cursor: 'c3RlcHM', requestState: 'v1.x.y', ...(isNewer && { _meta: META }) };
    const message = changed({ jsonrpc: '2.0', id: index, method, params }, random);
    const headers = { 'mcp-protocol-version': NEWER, 'mcp-method': method, 'mcp-name': 'steps' };
    const { status, text } = await post(message, isNewer ? headers : {});
    statuses.add(status);
    if (status >= 500 || isOdd(text)) faults.push(`${status} ${text} for ${JSON.stringify(message)}`);
  }
  expect(faults).toEqual([]);
  expect([200, 400, 404].filter((status) => !statuses.has(status))).toEqual([]);
  await expect.poll(() => database.sql('select 1 from gx.thread')).toEqual([]);
  expect(agent.output()).not.toMatch(/a call of a tool failed|request failed/);
});
