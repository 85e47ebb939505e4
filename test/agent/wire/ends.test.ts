import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { StudioAgent } from '../../../src/console/page/studio/agent.ts';
import { signPass } from '../../../src/tokens/agent-pass.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/*
 * What a pass, a key or a token has opened ends with it: streams and waits at once, WebSockets before they do anything
 * for a message, uploads before anything is done with them.
 */

const KEY = `gxa_${'k'.repeat(43)}`;
const folder = mkdtempSync(path.join(tmpdir(), 'gx-ends-'));
const tokens = path.join(folder, 'tokens');
const keyFolder = path.join(folder, 'keys-1');

let database: TestDatabase;
let keyed: AgentProcess;
const agents: AgentProcess[] = [];

const start = async (config: string, env: Record<string, string>): Promise<AgentProcess> => {
  const agent = await startAgent({ database: database.uri, config, env });
  agents.push(agent);
  return agent;
};
const setKey = (key: string): void => writeFileSync(path.join(keyFolder, 'api-key'), key);

beforeAll(async () => {
  mkdirSync(keyFolder);
  setKey(KEY);
  writeFileSync(tokens, 'ann\nbob');
  database = await freshDatabase();
  keyed = await start('test/agent/wire/graphs/gx.json', { GX_AGENT_KEY_FOLDER: keyFolder });
});
afterAll(async () => {
  for (const agent of agents) await agent.kill();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Agents take a pass for so many seconds more, because clocks differ. */
const SKEW = 30;
/** Returns the credential of a writer's pass that opens agents for so many seconds from now on. */
const passFor = (seconds: number): string =>
  `Bearer ${signPass({ deployment: 'd-1', subject: 'key-1', name: 'Ann', role: 'write', exp: Math.floor(Date.now() / 1000) - SKEW + seconds }, [KEY])}`;

const newThread = async ({ url }: AgentProcess, authorization: string): Promise<string> =>
  (
    await new Client({
      apiUrl: url,
      apiKey: null,
      defaultHeaders: { authorization },
    }).threads.create()
  ).thread_id;
const runsOf = async (
  { url }: AgentProcess,
  authorization: string,
  thread: string,
): Promise<number> =>
  (
    await new Client({ apiUrl: url, apiKey: null, defaultHeaders: { authorization } }).runs.list(
      thread,
    )
  ).length;

async function socketOf({ url }: AgentProcess, thread: string, headers: Record<string, string>) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/threads/${thread}/stream/events`, {
    headers,
  });
  await once(socket, 'open');
  const command = JSON.stringify({
    id: 1,
    method: 'run.start',
    params: { assistant_id: 'steps', input: { left: 1 } },
  });
  return {
    closed: once(socket, 'close') as Promise<[number]>,
    startsRun: () => socket.send(command),
    socket,
  };
}

/** Sends a body in two pieces. `between`: what happens before the second. */
async function sendSlowly(
  url: string,
  headers: Record<string, string>,
  between: () => Promise<unknown>,
) {
  const sent = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
  });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  sent.on('error', () => undefined);
  sent.write('{"metadata":');
  await between();
  sent.end('{"a":1}}');
  const [answer] = await answered;
  return { status: answer.statusCode, body: await text(answer) };
}

describe('a pass', () => {
  test('that has ended does nothing by a WebSocket that is open', async () => {
    const thread = await newThread(keyed, passFor(300));
    const { startsRun, closed } = await socketOf(keyed, thread, { authorization: passFor(2) });
    await wait(3100);
    startsRun();
    expect((await closed)[0]).toBe(4401);
    expect(await runsOf(keyed, passFor(300), thread)).toBe(0);
  });

  test('closes a WebSocket that says nothing, and ends a stream', async () => {
    const thread = await newThread(keyed, passFor(300));
    const authorization = passFor(2);
    const { closed } = await socketOf(keyed, thread, { authorization });
    const stream = await fetch(`${keyed.url}/threads/${thread}/stream`, {
      headers: { authorization },
    });
    const began = performance.now();
    expect(await stream.text()).toContain('event: error\r\ndata: {"error":"Unauthorized"');
    expect((await closed)[0]).toBe(4401);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test('that ends while a body is sent makes nothing', async () => {
    const before = await new Client({ apiUrl: keyed.url, apiKey: KEY }).threads.count();
    const answer = await sendSlowly(`${keyed.url}/threads`, { authorization: passFor(2) }, () =>
      wait(3100),
    );
    expect(answer).toMatchObject({
      status: 401,
      body: expect.stringContaining('The pass has expired'),
    });
    expect(await new Client({ apiUrl: keyed.url, apiKey: KEY }).threads.count()).toBe(before);
  });

  test('that ends is followed by the next one in the studio, which misses no event and repeats none', async () => {
    let opened = 0;
    const studio = new StudioAgent(async (at, { method = 'GET', body, headers, signal }) => {
      // Each is good for some seconds, so that the run takes several.
      const given = {
        ...headers,
        authorization: passFor(3),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      const sent = {
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      };
      const answer = await fetch(`${keyed.url}/${at}`, { method, headers: given, ...sent });
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      if (at.endsWith('/stream')) opened += 1;
      return answer;
    });
    const thread = await newThread(keyed, passFor(300));
    const asked = { assistant_id: 'steps', input: { left: 12, pause: 1000 } };
    const events = await Array.fromAsync(studio.start(thread, asked, new AbortController().signal));
    expect(opened).toBeGreaterThan(1);
    expect(events.map(({ kind }) => kind)).not.toContain('error');
    const states = events
      .filter(({ kind }) => kind === 'values')
      .map((one) => (JSON.parse(one.text) as { done?: number }).done ?? 0);
    expect(states).toEqual(Array.from({ length: 13 }, (_, done) => done));
  }, 60_000);
});

test('a key that was taken away does nothing by a WebSocket that is open', async () => {
  const thread = await newThread(keyed, passFor(300));
  const { startsRun, closed } = await socketOf(keyed, thread, { 'x-api-key': KEY });
  const next = KEY.replaceAll('k', 'n');
  setKey(next);
  await wait(2100);
  startsRun();
  expect((await closed)[0]).toBe(4401);
  expect(await new Client({ apiUrl: keyed.url, apiKey: next }).runs.list(thread)).toEqual([]);
  setKey(KEY);
});

describe.each(['gx.json', 'auth-first.json'])('where handlers decide, with %s', (config) => {
  let agent: AgentProcess;
  beforeAll(async () => {
    agent = await start(`test/agent/wire/ends/graphs/${config}`, {
      GOOD_TOKENS: tokens,
      GX_AGENT_KEY_FOLDER: keyFolder,
      GX_AUTH_CHECK_SECS: '2',
    });
  });
  const forget = (token: string): void =>
    writeFileSync(tokens, ['ann', 'bob'].filter((one) => one !== token).join('\n'));
  const ANN = { authorization: 'Bearer ann' };

  test('a token that they refuse does nothing by a WebSocket that is open', async () => {
    writeFileSync(tokens, 'ann\nbob');
    const thread = await newThread(agent, 'Bearer bob');
    const { startsRun, closed, socket } = await socketOf(agent, thread, ANN);
    startsRun();
    await once(socket, 'message');
    forget('ann');
    // A check that was made within the last second counts for the next message.
    await wait(1100);
    startsRun();
    expect((await closed)[0]).toBe(4401);
    expect(await runsOf(agent, 'Bearer bob', thread)).toBe(1);
  });

  test('an answer of the application that lasts ends with the token, and with the pass', async () => {
    writeFileSync(tokens, 'ann\nbob');
    // A pass is made when it is shown, with time for a busy machine to take it.
    for (const headers of [() => ANN, () => ({ authorization: passFor(8) })]) {
      const shown = headers();
      const answer = await fetch(`${agent.url}/words`, { headers: shown });
      expect(answer.status).toBe(200);
      const read = answer.text().then(
        () => 'ended',
        () => 'broke off',
      );
      if (shown === ANN) forget('ann');
      const how = await Promise.race([read, wait(25_000, 'open')]);
      expect(how).toBe('broke off');
    }
  }, 90_000);

  test('a body for the application is refused once the token is', async () => {
    writeFileSync(tokens, 'ann\nbob');
    const refused = await sendSlowly(`${agent.url}/takes`, ANN, async () => {
      forget('ann');
      await wait(3000);
    });
    expect(refused.status).toBe(401);
    expect(
      (await sendSlowly(`${agent.url}/takes`, { authorization: 'Bearer bob' }, () => wait(3000)))
        .body,
    ).toBe('took 20');
  });
});
