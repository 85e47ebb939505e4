import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { isForRest, requestOf } from '../blocks/commands.ts';
import { readBlocks } from '../blocks/read.ts';
import { typePage } from '../blocks/shell.ts';

/*
 * The code of the pages runs: handlers in a real server, clients against one, and what curl sends to an agent is sent.
 * The graph of the example echo has the names that pages give their graphs.
 */

const blocks = readBlocks();
/** Beside those of the tutorial, which are the files of one project: tutorial.test.ts has them. */
const code = blocks.filter(
  ({ language, page }) => language === 'ts' && page !== 'docs/tutorial.md',
);

/** Code of others, whose packages want a page in a browser. Its syntax is checked with all blocks. */
const NOT_RUN: Record<string, string> = {
  "from '@ag-ui/langgraph'": 'an adapter for servers of AG-UI',
  useLangGraphRuntime: 'a hook of React; test/browser runs the hooks of the SDK',
};

/** Names that a page takes from its reader, and modules that a block on the same page has imported. */
const NEEDS: Record<string, string> = {
  AGENT_URL: `const AGENT_URL = process.env['AGENT_URL']!;`,
  AGENT_KEY: `const AGENT_KEY = process.env['AGENT_KEY']!;`,
  userOf: `const userOf = async (header: string | null) => (header === 'Bearer ann' ? { id: 'ann', roles: ['user'] } : undefined);`,
  StreamableHTTPClientTransport: `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';`,
  ClientFactory: `import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';\nimport { SendMessageRequest } from '@a2a-js/sdk';`,
  threadId: `const { thread_id: threadId } = await new Client({ apiUrl: AGENT_URL, apiKey: AGENT_KEY }).threads.create();`,
  'input })': `const input = { messages: [{ role: 'user', content: 'hello' }] };`,
};

const isHandler = (block: string): boolean => /^export const \w+ =/m.test(block);

/** Returns the block as a module, with what it needs before it. */
const moduleOf = (block: string): string =>
  [
    ...Object.entries(NEEDS).flatMap(([name, line]) =>
      block.includes(name) && !block.includes(`const ${name.split(' ')[0]} =`) ? [line] : [],
    ),
    block,
  ].join('\n');

let folder: string;
let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  mkdirSync('.run', { recursive: true });
  folder = mkdtempSync(resolve('.run/docs-'));
  database = await freshDatabase();
  const graph = resolve('examples/echo/graph.ts:graph');
  writeFileSync(
    `${folder}/clients.json`,
    JSON.stringify({ graphs: { echo: graph, agent: graph, 'my-agent': graph } }),
  );
  agent = await startAgent({ database: database.uri, config: `${folder}/clients.json` });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const clients = code.filter(
  ({ text: block }) =>
    !isHandler(block) && !Object.keys(NOT_RUN).some((sign) => block.includes(sign)),
);

test('there is code of each kind', () => {
  expect(clients.length).toBeGreaterThan(3);
  expect(code.filter(({ text: block }) => isHandler(block)).length).toBeGreaterThan(2);
});

test.each(clients.map(({ at, text: block }) => [at, block]))(
  'the client of %s runs',
  async (at, block) => {
    const file = `${folder}/${at.replaceAll(/\W/g, '-')}.ts`;
    writeFileSync(file, moduleOf(block));
    const env = { ...process.env, AGENT_URL: agent.url, AGENT_KEY: 'any' };
    const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [output, errors, exit] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((done) => child.on('close', done)),
    ]);
    expect([exit, errors + output]).toEqual([0, expect.not.stringContaining('rror:')]);
  },
);

test('an agent answers what curl sends', async () => {
  const pages = Map.groupBy(
    blocks.filter(({ language, text: block }) => language === 'sh' && block.includes('curl')),
    ({ page }) => page,
  );
  const requests = [...pages.keys()]
    .flatMap(
      (page) => typePage(blocks.filter((one) => one.page === page && one.language === 'sh')).calls,
    )
    .filter(({ program }) => program === 'curl')
    .map(requestOf)
    .filter((request) => !isForRest(request));
  expect(requests.length).toBeGreaterThan(5);
  const { thread_id } = await agent.client.threads.create({
    threadId: '5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b12',
  });
  expect(thread_id).toBeTruthy();
  for (const { method, url, headers, body, at } of requests) {
    const answer = await fetch(`${agent.url}${url.pathname}${url.search}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    expect([at, answer.status, await answer.text()]).toEqual([
      at,
      200,
      expect.stringContaining('"messages"'),
    ]);
  }
});

describe('the handlers', () => {
  const handlerOf = (name: string): string =>
    code.find(({ text: block }) => block.includes(`export const ${name} =`))!.text;
  let guarded: AgentProcess;
  let own: TestDatabase;

  beforeAll(async () => {
    own = await freshDatabase();
    for (const name of ['auth', 'encryption', 'app'])
      writeFileSync(`${folder}/${name}.ts`, moduleOf(handlerOf(name)));
    const settings = {
      auth: { path: './auth.ts:auth' },
      encryption: { path: './encryption.ts:encryption' },
      http: { app: './app.ts:app' },
    };
    writeFileSync(
      `${folder}/handlers.json`,
      JSON.stringify({ graphs: { echo: resolve('examples/echo/graph.ts:graph') }, ...settings }),
    );
    const env = { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
    guarded = await startAgent({ database: own.uri, config: `${folder}/handlers.json`, env });
  });

  afterAll(async () => {
    await guarded.kill();
    await own.drop();
  });

  const ask = (path: string, body: unknown, user = 'ann'): Promise<Response> =>
    fetch(`${guarded.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('of auth.path let in whom they know', async () => {
    const refused = await ask('/threads', {}, 'nobody');
    expect([refused.status, await refused.json()]).toEqual([401, { detail: 'Sign in first.' }]);
    expect(await (await ask('/threads', {})).json()).toMatchObject({ metadata: { owner: 'ann' } });
  });

  test('of encryption.path encrypt their key wherever it stands, and each run goes on', async () => {
    const ssn = 'seen-by-nobody';
    const input = { messages: [{ role: 'user', content: 'hello' }] };
    const made = (await (await ask('/threads', { metadata: { ssn } })).json()) as {
      thread_id: string;
    };
    for (const settings of [
      { context: { ssn } },
      { config: { configurable: { ssn }, metadata: { ssn } } },
    ]) {
      const run = await ask(`/threads/${made.thread_id}/runs/wait`, {
        assistant_id: 'echo',
        input,
        ...settings,
      });
      expect([run.status, await run.json()]).toEqual([
        200,
        expect.objectContaining({ messages: expect.any(Array) as unknown }),
      ]);
    }
    const found = await own.sql<{ found: number }>(
      `select count(*)::int as found from (select t::text from gx.thread t union all select r::text from gx.run r) all_rows (t) where t like '%${ssn}%'`,
    );
    expect(found).toEqual([{ found: 0 }]);
  });

  test('of http.app answer beside the routes of the server', async () => {
    const headers = { authorization: 'Bearer ann' };
    expect(await (await fetch(`${guarded.url}/hello/you`, { headers })).json()).toEqual({
      hello: 'you',
    });
    expect((await ask('/threads/search', {})).headers.get('x-team')).toBe('red');
  });
});
