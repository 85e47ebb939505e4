import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { COMPILE_CACHE } from '../../kit/compile-cache.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/*
 * A project has graphs in JavaScript and in Python, and each language has runners of its own. The interpreter here runs
 * test/agent/runner/runner.py in place of the module `gx_runner`.
 */

const ROOT = path.resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-languages-'));
const config = path.join(folder, 'gx.json');
let database: TestDatabase;

function interpreter(name: string, runsModule: string): string {
  const program = path.join(folder, name);
  writeFileSync(
    program,
    `#!/bin/sh\nif [ "$1" = -m ]; then ${runsModule}; fi\nexec python3 -I -S "$@"\n`,
  );
  chmodSync(program, 0o755);
  return program;
}

const PYTHON = interpreter(
  'python',
  `exec python3 ${path.join(ROOT, 'test/agent/runner/runner.py')} "$@"`,
);
/** An interpreter without packages. */
const BARE = interpreter('bare', 'exit 1');

beforeAll(async () => {
  database = await freshDatabase();
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  copyFileSync(
    path.join(ROOT, 'test/agent/runner/graphs/graphs.ts'),
    path.join(folder, 'graphs.ts'),
  );
  writeFileSync(
    path.join(folder, 'agent.py'),
    '# The interpreter of this test does not read it.\n',
  );
  const python = {
    count: './agent.py:count',
    where: 'my_agent.graph:where',
    stick: './agent.py:stick',
  };
  writeFileSync(
    config,
    JSON.stringify({ graphs: { echo: './graphs.ts:echo', ask: './graphs.ts:ask', ...python } }),
  );
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Place = { folder: string; path: string; arguments: string[]; pid: number };
async function placeOf({ client }: Pick<AgentProcess, 'client'>): Promise<Place> {
  const { answer } = (await client.runs.wait(null, 'where', { input: {} })) as { answer: string };
  return JSON.parse(answer) as Place;
}
const echoed = ({ client }: Pick<AgentProcess, 'client'>): Promise<unknown> =>
  client.runs.wait(null, 'echo', { input: { question: 'x' } });

describe('a server with graphs in two languages', () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    agent = await startAgent({
      database: database.uri,
      config,
      env: { GX_PYTHON: PYTHON, PYTHONPATH: '/mine', GX_PYTHON_PROCESSES: '2' },
    });
  });
  afterAll(() => agent.kill('SIGKILL'));

  test('runs each where its language runs', async () => {
    expect(await echoed(agent)).toMatchObject({ answer: 'echo: x' });
    const place = await placeOf(agent);
    expect(place).toMatchObject({
      folder,
      arguments: ['-m', 'gx_runner'],
      path: `${path.join(ROOT, 'python')}:/mine`,
    });
    expect(place.pid).not.toBe(agent.process.pid);
  });

  test('answers questions about threads of both', async () => {
    const thread_id = async (): Promise<string> => (await agent.client.threads.create()).thread_id;
    const [asked, counted] = [await thread_id(), await thread_id()];
    await agent.client.runs.wait(asked, 'ask', { input: { question: 'q' } });
    await agent.client.runs.wait(counted, 'count', { input: { to: 2, pause: 0 } });
    expect((await agent.client.threads.getState(asked)).next).toEqual(['ask']);
    expect((await agent.client.threads.getState(counted)).values).toMatchObject({ done: 2 });
    await agent.client.runs.wait(asked, 'ask', { command: { resume: 'blue' } });
    expect((await agent.client.threads.getState(asked)).values).toMatchObject({ colour: 'blue' });
  });

  test('ends a process that does not hear of a cancel, and all others go on', async () => {
    const [waiting, stuck] = await Promise.all([
      agent.client.threads.create(),
      agent.client.threads.create(),
    ]);
    await agent.client.runs.wait(waiting.thread_id, 'ask', { input: { question: 'q' } });
    const { run_id } = await agent.client.runs.create(stuck.thread_id, 'stick', {
      input: { question: 'q' },
    });
    const statusOf = async (): Promise<string> =>
      (await agent.client.runs.get(stuck.thread_id, run_id)).status;
    await until('it is under way', async () => (await statusOf()) === 'running');
    await agent.client.runs.cancel(stuck.thread_id, run_id, true);
    expect(await statusOf()).toBe('interrupted');
    expect((await placeOf(agent)).folder).toBe(folder);
    expect(await echoed(agent)).toMatchObject({ answer: 'echo: x' });
  });

  test('runs those of event streaming there, too', async () => {
    const { thread_id } = await agent.client.threads.create();
    const response = await fetch(`${agent.url}/threads/${thread_id}/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        id: 1,
        method: 'run.start',
        params: { assistant_id: 'where', input: {} },
      }),
    });
    const { result } = (await response.json()) as { result: { run_id: string } };
    const { answer } = (await agent.client.runs.join(thread_id, result.run_id)) as {
      answer: string;
    };
    expect(JSON.parse(answer)).toMatchObject({ folder, arguments: ['-m', 'gx_runner'] });
  });
});

describe('a start fails with a sentence where', () => {
  test.each([
    [
      'there is no interpreter',
      '/nowhere/python',
      'GX_PYTHON names /nowhere/python, which is not there',
    ],
    [
      'the interpreter has no LangGraph',
      BARE,
      `Graphs in Python need LangGraph, which ${BARE} (GX_PYTHON names it) does not have: run ${BARE} -m pip install langgraph`,
    ],
  ])('%s', async (_, GX_PYTHON, sentence) => {
    const { code, output } = await failedStart({
      database: database.uri,
      config,
      env: { GX_PYTHON },
    });
    expect([code === 0, output.includes(sentence), output.includes('Traceback')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('the connections are not enough for both languages', async () => {
    const env = { GX_PYTHON: PYTHON, GX_POSTGRES_MAX_CONNECTIONS: '6' };
    const { code, output } = await failedStart({ database: database.uri, config, env });
    expect([code === 0, output.includes('graphs in two languages need 7')]).toEqual([false, true]);
  });
});

describe('gx dev', () => {
  const stops: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  async function dev(GX_PYTHON: string): Promise<Pick<AgentProcess, 'client' | 'url' | 'output'>> {
    const args = [
      'src/main.ts',
      'dev',
      '--port',
      '0',
      '--config',
      config,
      '--database-uri',
      database.uri,
    ];
    const env = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...COMPILE_CACHE,
      GX_PYTHON,
    };
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    const closed = once(child, 'close');
    stops.push(() => (child.kill('SIGKILL'), closed));
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => (output += piece.toString()));
    const url = await until(
      'dev is ready',
      async () => /Ready after .*: (http:\S+)/.exec(output)?.[1],
      90,
    );
    return {
      url,
      client: new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } }),
      output: () => output,
    };
  }

  test('serves the graphs in JavaScript without an interpreter, and names the reason', async () => {
    const running = await dev('/nowhere/python');
    expect(await echoed(running)).toMatchObject({ answer: 'echo: x' });
    const sentence = 'GX_PYTHON names /nowhere/python, which is not there';
    const { graph_errors } = (await (await fetch(`${running.url}/info`)).json()) as {
      graph_errors: { graph_id: string; error: string }[];
    };
    expect(graph_errors.map(({ graph_id, error }) => [graph_id, error.includes(sentence)])).toEqual(
      [
        ['count', true],
        ['where', true],
        ['stick', true],
      ],
    );
    await expect(placeOf(running)).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining(sentence) as string,
    });
    await expect
      .poll(() => running.output())
      .toContain('NOT SERVED until its file is fixed: GX_PYTHON names');
  });

  test('runs Python again when a file of it changes', async () => {
    const running = await dev(PYTHON);
    const { pid } = await placeOf(running);
    writeFileSync(path.join(folder, 'agent.py'), '# A changed file.\n');
    await until(
      'another process runs the graphs',
      async () => (await placeOf(running)).pid !== pid,
      60,
    );
    await until('the log names the file, and says that the graphs are loaded', async () =>
      /agent\.py changed, loading the graphs again[\s\S]* reloaded in /.test(running.output()),
    );
    expect(await echoed(running)).toMatchObject({ answer: 'echo: x' });
  });
});
