import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Streams, waits and WebSockets end once the key that opened them opens nothing any more. */

const [FIRST, SECOND] = [`gxa_${'k'.repeat(43)}`, `gxa_${'n'.repeat(43)}`];
const folder = mkdtempSync(path.join(tmpdir(), 'gx-key-'));
const setKey = (key: string): void => writeFileSync(path.join(folder, 'api-key'), key);

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  setKey(FIRST);
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    env: { GX_AGENT_KEY_FOLDER: folder, GX_AUTH_CHECK_SECS: '1' },
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  rmSync(folder, { recursive: true });
});

test('a stream and a WebSocket of a key that is no longer known end, and those of the next key go on', async () => {
  const { thread_id } = await new Client({ apiUrl: agent.url, apiKey: FIRST }).threads.create();
  const leaving = new AbortController();
  const open = async (key: string) => {
    const headers = { 'x-api-key': key };
    const stream = fetch(`${agent.url}/threads/${thread_id}/stream`, {
      headers,
      signal: leaving.signal,
    });
    const socket = new WebSocket(
      `${agent.url.replace('http', 'ws')}/threads/${thread_id}/stream/events`,
      { headers },
    );
    await once(socket, 'open');
    return { stream, socket, closed: once(socket, 'close') as Promise<[number]> };
  };
  const old = await open(FIRST);
  setKey(SECOND);
  await expect
    .poll(
      async () =>
        (await fetch(`${agent.url}/threads/${thread_id}`, { headers: { 'x-api-key': FIRST } }))
          .status,
    )
    .toBe(401);
  const next = await open(SECOND);
  expect(await (await old.stream).text()).toContain(
    'event: error\r\ndata: {"error":"Unauthorized"',
  );
  expect((await old.closed)[0]).toBe(4401);
  expect(next.socket.readyState).toBe(WebSocket.OPEN);
  next.socket.terminate();
  leaving.abort();
  expect((await next.stream).status).toBe(200);
});

test('a wait for a run, and a join, of a key that is no longer known end without the result', async () => {
  const headers = { 'x-api-key': SECOND };
  const { thread_id } = await new Client({ apiUrl: agent.url, apiKey: SECOND }).threads.create();
  const body = JSON.stringify({ assistant_id: 'steps', input: { left: 1, pause: 4000 } });
  const waiting = await fetch(`${agent.url}/threads/${thread_id}/runs/wait`, {
    method: 'POST',
    headers,
    body,
  });
  const joined = await fetch(`${agent.url}${waiting.headers.get('location')}`, { headers });
  setKey(FIRST);
  const refused = {
    __error__: {
      error: 'Unauthorized',
      message: 'The credentials of this request are no longer valid.',
    },
  };
  expect(await Promise.all([waiting.json(), joined.json()])).toEqual([refused, refused]);
  const next = new Client({ apiUrl: agent.url, apiKey: FIRST });
  const [run] = await next.runs.list(thread_id);
  expect(run).toMatchObject({ status: 'running' });
  expect(await next.runs.join(thread_id, run!.run_id)).toMatchObject({ done: 1 });
});
