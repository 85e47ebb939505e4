import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { COMPILE_CACHE } from '../../../kit/compile-cache.ts';
import { until } from '../../../kit/until.ts';
import { freshDatabase } from '../../../kit/postgres.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../..');

type Dev = {
  child: ChildProcess;
  url: string;
  client: Client;
  output(): string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
};

const home = mkdtempSync(path.join(tmpdir(), 'gx-dev-'));
chmodSync(home, 0o755);
symlinkSync(path.join(ROOT, 'node_modules'), path.join(home, 'node_modules'));
afterAll(() => rm(home, { recursive: true, force: true }));

const started: ChildProcess[] = [];

function launch(
  args: string[],
  env: Record<string, string> = {},
): { child: ChildProcess; output(): string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [path.join(ROOT, 'src/main.ts'), 'dev', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...COMPILE_CACHE, ...env },
  });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece: Buffer) => (output += piece.toString()));
  const ended = once(child, 'close').then(() => child.exitCode);
  return { child, output: () => output, ended };
}

async function dev(args: string[], port = ['--port', '0']): Promise<Dev> {
  const { child, output, ended } = launch([...port, ...args]);
  const url = await until(
    'dev is ready',
    async () =>
      /Ready after .*: (http:\S+)/.exec(output())?.[1] ??
      (child.exitCode === null ? undefined : 'none'),
    90,
  );
  if (url === 'none') throw new Error(output());
  const stop = (signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  return {
    child,
    url,
    client: new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } }),
    output,
    stop,
  };
}

/** Starts `dev` where the start must fail. */
async function refused(args: string[]): Promise<{ code: number | null; output: string }> {
  const { ended, output } = launch(['--port', '0', ...args]);
  return { code: await ended, output: output() };
}

const lastSaid = (values: unknown): string => {
  const { messages } = values as { messages: { content: string }[] };
  return messages.at(-1)?.content ?? '';
};
const input = { messages: [{ role: 'human', content: 'hello out there' }] };

describe('dev', () => {
  let folder: string;
  let config: string;
  /** Changes the file in such a way that every reader finds it complete. */
  const change = (file: string, changes: Record<string, string>): void => {
    const at = path.join(folder, file);
    let text = readFileSync(at, 'utf8');
    for (const [from, to] of Object.entries(changes)) text = text.replace(from, to);
    writeFileSync(`${at}.tmp`, text);
    renameSync(`${at}.tmp`, at);
  };
  const answer = async ({ client }: Dev): Promise<string> =>
    lastSaid(await client.runs.wait(null, 'echo', { input }));
  const alive = (): boolean => existsSync(path.join(folder, '.gx/postgres/data/postmaster.pid'));

  beforeEach(() => {
    folder = mkdtempSync(path.join(home, 'agent-'));
    chmodSync(folder, 0o755);
    cpSync(path.join(ROOT, 'examples/echo'), folder, {
      recursive: true,
      filter: (source) => !source.includes('/.gx'),
    });
    config = path.join(folder, 'gx.json');
  });
  afterEach(async () => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
    await until('Postgres is gone', async () => !alive(), 60);
    rmSync(folder, { recursive: true, force: true });
  });

  test('answers, and has the thread still after a restart', async () => {
    const first = await dev(['--config', config]);
    const { thread_id } = await first.client.threads.create();
    expect(lastSaid(await first.client.runs.wait(thread_id, 'echo', { input }))).toBe(
      'That was message 1 of this thread.',
    );
    expect(await first.stop()).toBe(0);
    expect(alive()).toBe(false);
    const second = await dev(['--config', config]);
    expect(lastSaid(await second.client.runs.wait(thread_id, 'echo', { input }))).toBe(
      'That was message 2 of this thread.',
    );
    expect(await second.stop('SIGTERM')).toBe(0);
  });

  test('forgets its data when asked', async () => {
    const first = await dev(['--config', config]);
    const { thread_id } = await first.client.threads.create();
    await first.stop();
    const second = await dev(['--config', config, '--reset']);
    await expect(second.client.threads.get(thread_id)).rejects.toMatchObject({ status: 404 });
    await expect.poll(() => second.output()).toContain('forgotten');
  });

  test('a changed graph answers the new way, a broken one leaves the old one answering', async () => {
    const running = await dev(['--config', config]);
    expect(await answer(running)).toBe('That was message 1 of this thread.');
    change('graph.ts', { 'That was message': 'Now it is' });
    await until(
      'the new graph answers',
      async () => (await answer(running)).startsWith('Now it is'),
      60,
    );
    change('graph.ts', { '.compile()': '.compile(' });
    await until('the error is told', async () => running.output().includes('not reloaded'), 60);
    expect(
      running
        .output()
        .split('\n')
        .filter((line) => line.includes('not reloaded')),
    ).toHaveLength(1);
    expect(await answer(running)).toMatch(/^Now it is/);
    change('graph.ts', { '.compile(': '.compile()', 'Now it is': 'At last' });
    await until(
      'the mended graph answers',
      async () => (await answer(running)).startsWith('At last'),
      60,
    );
  });

  test('serves the other graphs while one can not be loaded, and says which one and why', async () => {
    const names = { echo: './graph.ts:graph', other: './other.ts:graph' };
    writeFileSync(config, JSON.stringify({ graphs: names }));
    cpSync(path.join(folder, 'graph.ts'), path.join(folder, 'other.ts'));
    change('other.ts', { '.compile()': '.compile(' });
    const running = await dev(['--config', config]);
    const told = async (page: string): Promise<unknown> =>
      ((await (await fetch(running.url + page)).json()) as { graph_errors?: unknown }).graph_errors;
    const other = (): Promise<unknown> => running.client.runs.wait(null, 'other', { input });
    await expect
      .poll(() => running.output())
      .toMatch(
        /other +NOT SERVED until its file is fixed: Graph "other": .*other\.ts can't be loaded/,
      );
    expect(await answer(running)).toBe('That was message 1 of this thread.');
    await expect(other()).rejects.toMatchObject({
      status: 500,
      text: expect.stringMatching(/other\.ts can't be loaded: TransformError/),
    });
    await expect(running.client.assistants.getGraph('other')).rejects.toMatchObject({
      status: 500,
    });
    const missing = [
      { graph_id: 'other', serves: 'nothing', error: expect.stringContaining('other.ts') },
    ];
    expect([await told('/'), await told('/info')]).toEqual([missing, missing]);
    change('other.ts', { '.compile(': '.compile()', 'That was message': 'Mended, it is' });
    await until(
      'the mended graph answers',
      async () => lastSaid(await other().catch(() => ({ messages: [] }))).startsWith('Mended'),
      60,
    );
    expect([await told('/'), await told('/info')]).toEqual([undefined, undefined]);
    change('other.ts', { '.compile()': '.compile(' });
    await until('the page tells it', async () => (await told('/info')) !== undefined, 60);
    expect(await told('/info')).toEqual([{ ...missing[0], serves: 'its earlier version' }]);
    await expect
      .poll(() => running.output())
      .toMatch(/not reloaded, the former graphs keep answering: Graph "other"/);
    expect([lastSaid(await other()), await answer(running)]).toEqual([
      'Mended, it is 1 of this thread.',
      'That was message 1 of this thread.',
    ]);
  });

  test('a run that a reload cuts off goes on', async () => {
    change('graph.ts', { 'MILLISECONDS_PER_WORD = 40': 'MILLISECONDS_PER_WORD = 1000' });
    const running = await dev(['--config', config]);
    const { thread_id } = await running.client.threads.create();
    const long = { messages: [{ role: 'human', content: 'word '.repeat(60).trim() }] };
    const run = await running.client.runs.create(thread_id, 'echo', { input: long });
    await until(
      'it runs',
      async () => (await running.client.runs.get(thread_id, run.run_id)).status === 'running',
      30,
    );
    change('graph.ts', {
      'MILLISECONDS_PER_WORD = 1000': 'MILLISECONDS_PER_WORD = 1',
      'That was message': 'Now it is',
    });
    await until(
      'it has ended well',
      async () => (await running.client.runs.get(thread_id, run.run_id)).status === 'success',
      60,
    );
    expect(lastSaid((await running.client.threads.getState(thread_id)).values)).toBe(
      'Now it is 1 of this thread.',
    );
  });

  test('a route of the user takes a form with a file, a built-in one takes JSON', async () => {
    const app = `import { Hono } from 'hono';
      export const app = new Hono().post('/upload', async (c) => c.json({ size: (await c.req.parseBody()).file.size }));`;
    writeFileSync(path.join(folder, 'app.mjs'), app);
    writeFileSync(
      config,
      JSON.stringify({ graphs: { echo: './graph.ts:graph' }, http: { app: './app.mjs:app' } }),
    );
    const running = await dev(['--config', config]);
    const sent = (to: string, headers = {}): Promise<Response> => {
      const form = new FormData();
      form.set('file', new File(['0123456789'], 'a.txt'));
      return fetch(running.url + to, { method: 'POST', body: form, headers });
    };
    expect(await (await sent('/upload')).json()).toEqual({ size: 10 });
    expect((await sent('/threads')).status).toBe(415);
    expect((await sent('/upload', { origin: 'https://evil.example' })).status).toBe(403);
  });

  test('with all origins in gx.json still answers no page of the web, by WebSocket neither', async () => {
    writeFileSync(
      config,
      JSON.stringify({
        graphs: { echo: './graph.ts:graph' },
        http: { cors: { allow_origins: ['*'] } },
      }),
    );
    const running = await dev(['--config', config]);
    const headers = { origin: 'https://evil.example', 'content-type': 'application/json' };
    expect(
      (await fetch(`${running.url}/threads`, { method: 'POST', headers, body: '{}' })).status,
    ).toBe(403);
    const { thread_id: thread } = await running.client.threads.create();
    const closed = async (origin: string): Promise<unknown> => {
      const socket = new WebSocket(
        `${running.url.replace('http', 'ws')}/threads/${thread}/stream/events`,
        { headers: { origin } },
      );
      const code = await Promise.race([
        once(socket, 'close').then(([found]) => found as number),
        wait(1500, 'open'),
      ]);
      socket.terminate();
      return code;
    };
    expect([await closed('https://evil.example'), await closed('http://localhost:3000')]).toEqual([
      4403,
      'open',
    ]);
  });

  test('asks for the key that it prints, where other machines may reach it', async () => {
    const running = await dev(['--config', config, '--host', '0.0.0.0']);
    expect((await fetch(`${running.url}/info`)).status).toBe(401);
    const key = /it asks for a key: (gxa_[\w-]{43})/.exec(running.output())?.[1] ?? '';
    await expect.poll(() => running.output()).toContain(`/studio#key=${key}`);
    expect((await fetch(`${running.url}/info`, { headers: { 'x-api-key': key } })).status).toBe(
      200,
    );
    const former = await fetch(`${running.url}/chat`, { redirect: 'manual' });
    expect([former.status, former.headers.get('location')]).toEqual([302, 'studio']);
  });

  test('does not watch when told so', async () => {
    const running = await dev(['--config', config, '--no-reload']);
    change('graph.ts', { 'That was message': 'Now it is' });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await answer(running)).toBe('That was message 1 of this thread.');
  });

  test('a second start on the same data is refused, the first one goes on', async () => {
    const running = await dev(['--config', config]);
    const second = await refused(['--config', config]);
    expect(second.code).toBe(1);
    expect(second.output).toContain(running.url);
    expect(second.output.trim().split('\n')).toHaveLength(1);
    expect(await answer(running)).toBe('That was message 1 of this thread.');
  });

  test('after a kill nothing is left running, and the next start takes the data over', async () => {
    const first = await dev(['--config', config]);
    const { thread_id } = await first.client.threads.create();
    await first.stop('SIGKILL');
    const second = await dev(['--config', config]);
    expect((await second.client.threads.get(thread_id)).thread_id).toBe(thread_id);
  });

  test('uses a database that it is given, and starts none', async () => {
    const database = await freshDatabase({ migrated: false });
    const running = await dev(['--config', config, '--database-uri', database.uri]);
    expect(await answer(running)).toBe('That was message 1 of this thread.');
    expect(existsSync(path.join(folder, '.gx'))).toBe(false);
    await running.stop();
    await database.drop();
  });

  test('ends at Ctrl-C while it waits for the database that it is given', async () => {
    const nobody = 'postgresql://gx@127.0.0.1:1/gx';
    const { child, ended, output } = launch(
      ['--port', '0', '--config', config, '--database-uri', nobody],
      {
        GX_POSTGRES_WAIT_SECONDS: '3600',
      },
    );
    await until('it waits', async () => output().includes('waiting for the database'), 60);
    child.kill('SIGINT');
    expect(await ended).toBe(0);
  });

  test('logs for a program when told so', async () => {
    const running = await dev(['--config', config, '--log-json']);
    // A line waits a moment for others before it is written.
    const ready = await until(
      'its log says that it is ready',
      async () =>
        running
          .output()
          .split('\n')
          .find((line) => line.includes('agent server ready')),
      30,
    );
    expect(JSON.parse(ready)).toMatchObject({ level: 'info', process: 'dev' });
  });

  test('without --port, another one than the usual one when that is taken, and it says so', async () => {
    // Another program on this machine may already use the port.
    const other = createServer()
      .on('error', () => undefined)
      .listen(2024, '127.0.0.1');
    const running = await dev(['--config', config], []);
    other.close();
    expect(new URL(running.url).port).not.toBe('2024');
    await expect.poll(() => running.output()).toContain(`Port 2024 is taken`);
    await expect
      .poll(() => running.output())
      .toContain(`https://smith.langchain.com/studio/?baseUrl=${running.url}`);
    expect(await answer(running)).toBe('That was message 1 of this thread.');
  });

  test('a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { code, output } = await refused(['--config', config, '--port', String(port)]);
    other.close();
    expect({ code, lines: output.trim().split('\n').length }).toEqual({ code: 1, lines: 1 });
    expect(output).toContain(`Port ${port}`);
  });

  test.each([
    ['no gx.json', () => rmSync(config)],
    ['a gx.json that is no JSON', () => writeFileSync(config, '{')],
    ['a gx.json that names no graph', () => writeFileSync(config, '{"graphs": {}}')],
    ['a graph whose file is missing', () => rmSync(path.join(folder, 'graph.ts'))],
    [
      'a graph that is not exported',
      () => change('graph.ts', { 'export const graph': 'export const other' }),
    ],
    ['a graph that does not compile', () => change('graph.ts', { '.compile()': '.compile(' })],
  ])('%s: one sentence, exit code 1, nothing left running', async (_, spoil) => {
    spoil();
    const { code, output } = await refused(['--config', config]);
    expect({ code, output, lines: output.trim().split('\n').length }).toMatchObject({
      code: 1,
      lines: 1,
    });
    expect(output).toMatch(/gx\.json|graph\.ts/);
    expect(alive()).toBe(false);
  });
});
