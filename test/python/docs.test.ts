import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readBlocks } from '../docs/blocks/read.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* The Python of the pages runs: handlers in a real server, clients against one. */

const code = readBlocks().filter(({ language }) => language === 'python');

/** Code of a package that these tests do not install. */
const NOT_RUN: Record<string, string> = {
  managed_deepagents: 'test/builder/shapes/python-shapes.test.ts builds what that package makes',
};

/** Names that a page takes from its reader. */
const NEEDS: Record<string, string> = {
  user_of: `
class _User:
    id = "ann"
    roles = ["user"]

async def user_of(header):
    return _User() if header == "Bearer ann" else None
`,
  vault: `
class vault:
    @staticmethod
    async def encrypt(data):
        return bytes(255 - one for one in data)

    @staticmethod
    async def decrypt(data):
        return bytes(255 - one for one in data)
`,
};

const moduleOf = (block: string): string =>
  [
    ...Object.entries(NEEDS).flatMap(([name, lines]) => (block.includes(name) ? [lines] : [])),
    block,
  ].join('\n');

const isHandler = (block: string): boolean => /^@|^app = /m.test(block);
const clients = code.filter(
  ({ text }) => !isHandler(text) && !Object.keys(NOT_RUN).some((name) => text.includes(name)),
);

let folder: string;
let database: TestDatabase;
const agents: AgentProcess[] = [];

/** Starts a server with the settings. */
async function start(name: string, settings: object): Promise<AgentProcess> {
  const graph = resolve('test/agent/wire/encryption/graphs/keeps.py:graph');
  writeFileSync(
    `${folder}/${name}.json`,
    JSON.stringify({ graphs: { agent: graph }, ...settings }),
  );
  const env = { GX_PYTHON: `${inject('python')}/python` };
  const agent = await startAgent({ database: database.uri, config: `${folder}/${name}.json`, env });
  agents.push(agent);
  return agent;
}

beforeAll(async () => {
  mkdirSync('.run', { recursive: true });
  folder = mkdtempSync(resolve('.run/docs-python-'));
  database = await freshDatabase();
});

afterAll(async () => {
  for (const agent of agents) await agent.kill();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

test('the clients run', async () => {
  expect(clients.length).toBeGreaterThan(2);
  const agent = await start('clients', {});
  for (const { at, text } of clients) {
    const own = text.replaceAll('http://127.0.0.1:2024', agent.url);
    const isImport = (line: string): boolean => /^(from|import) /.test(line);
    const lines = own.split('\n');
    const given = [
      ...lines.filter(isImport),
      'import asyncio',
      'from uuid import uuid4',
      'from langgraph_sdk import get_client',
      `AGENT_URL, AGENT_KEY = "${agent.url}", "any"`,
      'input = {"messages": [{"role": "human", "content": "hello"}]}',
      'async def main():',
      '    client = get_client(url=AGENT_URL, api_key=AGENT_KEY)',
      '    thread_id = (await client.threads.create())["thread_id"]',
      ...lines.filter((line) => !isImport(line)).map((line) => `    ${line}`),
      'asyncio.run(main())',
    ];
    const file = `${folder}/${at.replaceAll(/\W/g, '_')}.py`;
    writeFileSync(file, given.join('\n'));
    const ran = promisify(execFile)(`${inject('python')}/python`, [file], {
      env: process.env,
      timeout: 60_000,
    });
    expect([at, await ran.then(() => 'ran', String)]).toEqual([at, 'ran']);
  }
});

describe('the handlers', () => {
  let agent: AgentProcess;
  const ask = (path: string, user = 'ann'): Promise<Response> =>
    fetch(`${agent.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user}` },
      body: '{}',
    });

  beforeAll(async () => {
    const signs = {
      auth: 'auth = Auth()',
      encryption: 'encryption = Encryption()',
      app: 'app = FastAPI()',
    };
    for (const [name, sign] of Object.entries(signs))
      writeFileSync(
        `${folder}/${name}.py`,
        moduleOf(code.find(({ text }) => text.includes(sign))!.text),
      );
    const http = { app: './app.py:app' };
    agent = await start('handlers', {
      auth: { path: './auth.py:auth' },
      encryption: { path: './encryption.py:encryption' },
      http,
    });
  });

  test('let in whom they know, encrypt, and answer', async () => {
    expect((await ask('/threads', 'nobody')).status).toBe(401);
    expect(await (await ask('/threads')).json()).toMatchObject({ metadata: { owner: 'ann' } });
    const hello = await fetch(`${agent.url}/hello/you`, {
      headers: { authorization: 'Bearer ann' },
    });
    expect([await hello.json(), hello.headers.get('x-team')]).toEqual([{ hello: 'you' }, 'red']);
  });
});
