import { randomBytes } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';

/* Calls of tools where one process answers and another executes, as in a deployment, with a key and encryption. */

const KEY = 'a-key-of-this-deployment';
let pair: AgentPair;

beforeAll(async () => {
  pair = await startPair({ GX_AGENT_KEY: KEY, GX_AES_KEY: randomBytes(16).toString('hex') });
});

afterAll(() => pair.stop());

async function connected(client: Client, key = KEY): Promise<Client> {
  client.setVersionNegotiation({ mode: { pin: '2026-07-28' } });
  const requestInit = { headers: { 'x-api-key': key } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${pair.api.url}/mcp`), { requestInit }),
  );
  return client;
}

test('a call brings the end and the progress of a run elsewhere', async () => {
  const client = await connected(new Client({ name: 'a test', version: '1' }));
  const heard: unknown[] = [];
  const onprogress = ({ message }: { message?: string | undefined }): number => heard.push(message);
  const result = await client.callTool({ name: 'steps', arguments: { left: 2 } }, { onprogress });
  expect(result).toMatchObject({ isError: false, structuredContent: { left: 0, done: 2 } });
  expect(heard).toEqual(['started', 'step', 'step']);
  const quiet = await client.callTool({ name: 'steps', arguments: { left: 1 } });
  expect(quiet.structuredContent).toMatchObject({ left: 0, done: 1 });
  const failed = await client.callTool({ name: 'broken', arguments: { how: 'error' } });
  expect(failed).toMatchObject({ isError: true, content: [{ text: 'TypeError: Boo!' }] });
  await client.close();
});

test('a question goes to the client, its answer to the run, and neither lies in the database as it is', async () => {
  const client = new Client(
    { name: 'a test', version: '1' },
    { capabilities: { elicitation: { form: {} } } },
  );
  let stored = '';
  client.setRequestHandler('elicitation/create', async () => {
    const tables = [
      'gx.thread',
      'gx.run',
      'gx.checkpoints',
      'gx.checkpoint_writes',
      'gx.checkpoint_blobs',
    ];
    for (const table of tables)
      stored += JSON.stringify(await pair.database.sql(`select t::text from ${table} t`));
    return { action: 'accept', content: { answer: 'yes' } };
  });
  await connected(client);
  const result = await client.callTool({ name: 'approval', arguments: { request: 'CaNaRy' } });
  expect(result.structuredContent).toEqual({ request: 'CaNaRy', answer: 'yes' });
  expect(stored.length).toBeGreaterThan(100);
  expect(stored).not.toContain('CaNaRy');
  expect(await pair.database.sql('select 1 from gx.checkpoints')).toEqual([]);
  await client.close();
});

test('without the key of the deployment there is no tool', async () => {
  await expect(
    connected(new Client({ name: 'a stranger', version: '1' }), 'another'),
  ).rejects.toThrow();
});
