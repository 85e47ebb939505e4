import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PassWords } from '../../../src/schema/wire/agent-pass.ts';
import type { WorkReport } from '../../../src/schema/wire/work-report.ts';
import { signPass } from '../../../src/tokens/agent-pass.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/* People whom the control plane knows come to an agent by a pass, with their own role. */

const [KEY, FORMER] = [`gxa_${'k'.repeat(43)}`, `gxa_${'f'.repeat(43)}`];
const WHO = 'test/agent/wire/keys/gx.json';
/** Its handlers admit users of the platform. */
const ADMITS = 'test/agent/wire/passes/gx.json';

let folder: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let gateway: WebhookReceiver;
let closed: AgentProcess;
const agents: AgentProcess[] = [];

async function start(config: string, env: Record<string, string>): Promise<AgentProcess> {
  const agent = await startAgent({ database: database.uri, config, env });
  agents.push(agent);
  return agent;
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-pass-'));
  writeFileSync(path.join(folder, 'api-key'), KEY);
  writeFileSync(path.join(folder, 'previous'), FORMER);
  [database, gateway] = await Promise.all([freshDatabase(), startReceiver()]);
  closed = await start(WHO, { GX_AGENT_KEY_FOLDER: folder, GX_AUTH_CHECK_SECS: '1' });
});

afterAll(async () => {
  for (const agent of agents) await agent.kill();
  await gateway.stop();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const seconds = (): number => Math.floor(Date.now() / 1000);
const passFor = (words: Partial<PassWords> = {}, keys: string[] = [KEY]): string =>
  signPass(
    {
      deployment: 'd-1',
      subject: 'key-1',
      name: 'Ann',
      role: 'read',
      exp: seconds() + 300,
      ...words,
    },
    keys,
  );

async function status(agent: AgentProcess, at: string, pass: string): Promise<number> {
  const headers = { authorization: `Bearer ${pass}`, 'content-type': 'application/json' };
  const answer = await fetch(agent.url + at, { method: 'POST', headers, body: '{}' });
  await answer.body?.cancel();
  return answer.status;
}
const looks = (agent: AgentProcess, pass: string): Promise<number> =>
  status(agent, '/threads/search', pass);
const acts = (agent: AgentProcess, pass: string): Promise<number> =>
  status(agent, '/threads', pass);
const clientOf = (agent: AgentProcess, pass: string): Client =>
  new Client({
    apiUrl: agent.url,
    apiKey: null,
    defaultHeaders: { authorization: `Bearer ${pass}` },
    callerOptions: { maxRetries: 0 },
  });

describe('an agent with a key', () => {
  test('lets readers look and writers act', async () => {
    expect([await looks(closed, passFor()), await acts(closed, passFor())]).toEqual([200, 403]);
    for (const role of ['write', 'admin'] as const)
      expect([
        await looks(closed, passFor({ role })),
        await acts(closed, passFor({ role })),
      ]).toEqual([200, 200]);
  });

  test('refuses a pass that has expired, is forged or is of another deployment', async () => {
    const other = passFor({}, [`gxa_${'o'.repeat(43)}`]);
    const [shown = '', mac = ''] = passFor().split('.');
    const forged = `${shown.slice(0, -2)}AA.${mac}`;
    for (const pass of [passFor({ exp: seconds() - 60 }), other, forged, 'gxp_x'])
      expect(await looks(closed, pass)).toBe(401);
  });

  test('takes a pass by the former key as long as it takes that key itself', async () => {
    expect(await looks(closed, passFor({}, [FORMER]))).toBe(200);
    expect(await looks(closed, passFor({}, [`gxa_${'n'.repeat(43)}`, KEY]))).toBe(200);
  });

  test('tells graphs who it is', async () => {
    const { user } = (await clientOf(closed, passFor({ role: 'write' })).runs.wait(null, 'who', {
      input: { said: 'hi' },
    })) as {
      user?: unknown;
    };
    expect(user).toEqual({
      identity: 'key-1',
      display_name: 'Ann',
      is_authenticated: true,
      permissions: ['write'],
      kind: 'StudioUser',
    });
  });
});

test('an open agent lets readers only look, because the network lets nobody else of them in', async () => {
  const env = { GX_REPORT_URL: `${gateway.url}/open`, GX_REPORT_KEY_FOLDER: folder };
  const open = await start(WHO, env);
  expect([await looks(open, passFor()), await acts(open, passFor())]).toEqual([200, 403]);
  expect([
    await acts(open, passFor({ role: 'write' })),
    await looks(open, passFor({ exp: 1 })),
  ]).toEqual([200, 401]);
  expect((await fetch(`${open.url}/threads`, { method: 'POST', body: '{}' })).status).toBe(200);
});

describe('handlers of auth.path', () => {
  test('decide alone, unless gx.json says that they admit users of the platform', async () => {
    const alone = await start('test/agent/wire/auth/graphs/gx.json', {
      GX_AGENT_KEY_FOLDER: folder,
    });
    const pass = passFor({ role: 'write' });
    // To these handlers, every token is a name.
    const { user } = (await clientOf(alone, pass).runs.wait(null, 'who', {
      input: { said: 'hi' },
    })) as { user?: unknown };
    expect(user).toMatchObject({ identity: pass });
    expect(user).not.toHaveProperty('kind');
  });

  test('that admit them say what each may do, and know them by their kind', async () => {
    const agent = await start(ADMITS, { GX_AGENT_KEY_FOLDER: folder });
    const writer = clientOf(agent, passFor({ role: 'write' }));
    const { user } = (await writer.runs.wait(null, 'who', { input: { said: 'hi' } })) as {
      user?: unknown;
    };
    expect(user).toMatchObject({ identity: 'studio:key-1', kind: 'StudioUser' });
    const own = await writer.threads.create();
    expect(own.metadata).toMatchObject({ owner: 'studio:key-1' });
    const theirs = await clientOf(agent, 'key-1').threads.create();
    expect((await writer.threads.search()).map(({ thread_id: id }) => id)).not.toContain(
      theirs.thread_id,
    );
    expect([await acts(agent, passFor()), await looks(agent, passFor({ exp: 1 }))]).toEqual([
      403, 401,
    ]);
  });
});

test('reads by a pass are no use of the deployment, and others are', async () => {
  const idleAfter = async (
    at: string,
    use: (agent: AgentProcess) => Promise<number>,
  ): Promise<number> => {
    const env = {
      GX_AGENT_KEY_FOLDER: folder,
      GX_REPORT_URL: `${gateway.url}/${at}`,
      GX_REPORT_KEY_FOLDER: folder,
    };
    const agent = await start(WHO, env);
    await until('it has reported', () => gateway.at(`/${at}`).length > 0);
    for (let look = 0; look < 8; look += 1) {
      expect(await use(agent)).toBe(200);
      await wait(500);
    }
    await agent.kill();
    return (gateway.at(`/${at}`).at(-1)!.body as unknown as WorkReport).idle_seconds;
  };
  const headers = { authorization: `Bearer ${passFor()}` };
  const opened = async (agent: AgentProcess): Promise<void> =>
    void (await fetch(`${agent.url}/ui/nothing/entrypoint.js`, { headers })).status;
  expect(
    await idleAfter('looks', async (agent) => (await opened(agent), looks(agent, passFor()))),
  ).toBeGreaterThanOrEqual(4);
  expect(await idleAfter('acts', (agent) => acts(agent, passFor({ role: 'write' })))).toBeLessThan(
    3,
  );
});
