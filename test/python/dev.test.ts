import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  cpSync,
  chmodSync,
  mkdirSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { startDev, type DevServer } from '../kit/dev-server.ts';
import { until } from '../kit/until.ts';

/* A developer has a project in Python with a `.venv`, and changes its files while `gx dev` serves it. */

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '../..');
const input = { messages: [{ role: 'human', content: 'hello out there' }] };

let folder: string;
let config: string;
const started: DevServer[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-dev-python-'));
  chmodSync(folder, 0o755);
  config = path.join(folder, 'gx.json');
  cpSync(path.join(ROOT, 'examples/python'), folder, {
    recursive: true,
    filter: (source) => !/\.gx|__pycache__/.test(source),
  });
  symlinkSync(path.dirname(inject('python')), path.join(folder, '.venv'));
});
afterEach(async () => {
  for (const running of started.splice(0)) await running.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function dev(args: string[] = [], env: Record<string, string> = {}): Promise<DevServer> {
  const running = await startDev({ args: ['--config', config, ...args], env });
  started.push(running);
  return running;
}

function change(file: string, changes: Record<string, string>): void {
  const at = path.join(folder, file);
  let text = readFileSync(at, 'utf8');
  for (const [from, to] of Object.entries(changes)) text = text.replace(from, to);
  writeFileSync(`${at}.tmp`, text);
  renameSync(`${at}.tmp`, at);
}

const said = (values: unknown): string =>
  (values as { messages?: { content: string }[] }).messages?.at(-1)?.content ?? '';
const answer = async ({ client }: DevServer, graph = 'echo'): Promise<string> =>
  said(await client.runs.wait(null, graph, { input }));

type Line = { msg: string; run_id?: string; thread_id?: string; node?: string; level: string };
/** The lines of the log that the project's own process has written. */
const lines = ({ output }: DevServer): Line[] =>
  output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

test('says which interpreter it uses, and answers by it', async () => {
  const running = await dev();
  await expect
    .poll(() => running.output())
    .toContain(`Python  ${path.join(folder, '.venv/bin/python')} (the .venv beside gx.json)`);
  expect(running.output()).toContain(`client = get_client(url="${running.url}")`);
  expect(await answer(running)).toBe('That was message 1 of this thread.');
});

test('a changed module of a graph answers the new way; one with a fault of syntax is named, and the last good one answers', async () => {
  writeFileSync(path.join(folder, 'words.py'), 'SAID = "That was message"\n');
  change('graph.py', {
    'import asyncio': 'import asyncio\n\nfrom words import SAID',
    'f"That was message {heard}': 'f"{SAID} {heard}',
  });
  const running = await dev();
  expect(await answer(running)).toBe('That was message 1 of this thread.');
  change('words.py', { 'That was': 'Now it is' });
  await until(
    'the new module answers',
    async () => (await answer(running)).startsWith('Now it is message'),
    60,
  );
  change('words.py', { 'SAID =': 'SAID = = ' });
  await until('the fault is told', async () => running.output().includes('not reloaded'), 60);
  expect(running.output()).toMatch(
    /not reloaded, the former graphs keep answering: Graph "echo": \S+\/words\.py:1: SyntaxError: invalid syntax/,
  );
  expect(await answer(running)).toMatch(/^Now it is/);
  change('words.py', { '= = ': '=', 'Now it is': 'At last, it is' });
  await until(
    'the mended module answers',
    async () => (await answer(running)).startsWith('At last'),
    60,
  );
});

test('a graph with a fault of syntax is left out at the start, and is served once it is mended', async () => {
  cpSync(path.join(folder, 'graph.py'), path.join(folder, 'other.py'));
  change('other.py', { '.compile()': '.compile(' });
  writeFileSync(
    config,
    JSON.stringify({ graphs: { echo: './graph.py:graph', other: './other.py:graph' } }),
  );
  const running = await dev();
  await expect
    .poll(() => running.output())
    .toMatch(
      /other +NOT SERVED until its file is fixed: Graph "other": \S+\/other\.py:\d+: SyntaxError/,
    );
  expect(await answer(running)).toBe('That was message 1 of this thread.');
  await expect(answer(running, 'other')).rejects.toMatchObject({ status: 500 });
  change('other.py', { '.compile(': '.compile()' });
  await until(
    'the mended graph answers',
    async () => (await answer(running, 'other').catch(() => '')) !== '',
    60,
  );
});

test('a run that a reload cuts off goes on in the next process', async () => {
  change('graph.py', { 'SECONDS_PER_WORD = 0.04': 'SECONDS_PER_WORD = 1' });
  const running = await dev();
  const { thread_id } = await running.client.threads.create();
  const long = { messages: [{ role: 'human', content: 'word '.repeat(60).trim() }] };
  const { run_id } = await running.client.runs.create(thread_id, 'echo', { input: long });
  await until(
    'it runs',
    async () => (await running.client.runs.get(thread_id, run_id)).status === 'running',
    30,
  );
  change('graph.py', {
    'SECONDS_PER_WORD = 1': 'SECONDS_PER_WORD = 0',
    'That was message': 'Now it is',
  });
  await until(
    'it has ended well',
    async () => (await running.client.runs.get(thread_id, run_id)).status === 'success',
    60,
  );
  expect(said((await running.client.threads.getState(thread_id)).values)).toBe(
    'Now it is 1 of this thread.',
  );
});

const BLOCKING = '    for _ in range(3):\n        time.sleep(0.3)\n    print("said")\n';

/**
 * The text that runs there is no file, so the line that runs it is named. All three together hold the loop for so long
 * that a deployment's log, too, would tell of it.
 */
const HELD = BLOCKING.replace('time.sleep(0.3)', 'exec("time.sleep(0.6)")');

test('code that holds the event loop is told of once, with its stack, its run and its node', async () => {
  change('graph.py', {
    'import asyncio': 'import asyncio\nimport time',
    '    write = get': `${HELD}    write = get`,
  });
  const running = await dev(['--log-json']);
  const { thread_id } = await running.client.threads.create();
  await running.client.runs.wait(thread_id, 'echo', { input });
  await running.client.runs.wait(thread_id, 'echo', { input });
  const number =
    readFileSync(path.join(folder, 'graph.py'), 'utf8')
      .split('\n')
      .indexOf('        exec("time.sleep(0.6)")') + 1;
  const at = path.join(folder, 'graph.py');
  // On a busy machine any other line may hold it as well.
  const told = (): Line[] =>
    lines(running).filter(({ msg }) => msg.startsWith(`${at}:${number} holds the event loop`));
  await expect.poll(told).toHaveLength(1);
  const [warning] = told();
  expect(warning).toMatchObject({
    level: 'warn',
    thread_id,
    node: 'speak',
    run_id: expect.any(String) as string,
  });
  expect(warning?.msg).toContain('holds the event loop for more than 100 ms');
  expect(warning?.msg).toContain(
    `File "${at}", line ${number}, in speak\n    exec("time.sleep(0.6)")`,
  );
  expect(lines(running).filter(({ msg }) => msg === 'said')).toMatchObject([
    { thread_id },
    { thread_id },
  ]);
});

test('it is not told of where that is allowed, nor is a function that runs in a thread', async () => {
  change('graph.py', {
    'import asyncio': 'import asyncio\nimport time',
    '    write = get': `${BLOCKING}    write = get`,
  });
  const allowed = await dev(['--log-json', '--allow-blocking']);
  await answer(allowed);
  await allowed.stop();
  change('graph.py', { [BLOCKING]: '', '    heard =': '    time.sleep(0.3)\n    heard =' });
  const running = await dev(['--log-json']);
  await answer(running);
  expect([allowed, running].flatMap(lines).filter(({ msg }) => msg.includes('event loop'))).toEqual(
    [],
  );
});

const CLIENT = `import asyncio, sys
from langgraph_sdk import get_client

async def main():
    client = get_client(url=sys.argv[1])
    thread = await client.threads.create()
    messages = {"messages": [{"role": "user", "content": "hello"}]}
    async for part in client.runs.stream(thread["thread_id"], "agent", input=messages, stream_mode="messages-tuple"):
        if part.event == "messages":
            print(part.data[0]["content"])

asyncio.run(main())`;

test('a new project answers the official client a word at a time, without a key', async () => {
  const own = path.join(folder, 'My Agent');
  const { stdout } = await run(process.execPath, [
    path.join(ROOT, 'src/gx.ts'),
    'new',
    '--python',
    own,
  ]);
  expect(stdout).toContain(
    `cd ${JSON.stringify(own)}\n  python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'\n  gx dev\n`,
  );
  expect(readFileSync(path.join(own, 'pyproject.toml'), 'utf8')).toContain('name = "my-agent"\n');
  expect(readFileSync(path.join(own, '.gitignore'), 'utf8')).toContain('.venv/\n');
  chmodSync(own, 0o755);
  symlinkSync(path.dirname(inject('python')), path.join(own, '.venv'));
  const running = await dev(['--config', path.join(own, 'gx.json')]);
  const { stdout: words } = await run(path.join(own, '.venv/bin/python'), [
    '-c',
    CLIENT,
    running.url,
  ]);
  expect(words.split('\n').length).toBeGreaterThan(5);
  expect(words.replaceAll('\n', '')).toMatch(/^You said "hello"\. I am a stand-in/);
});

test.each([
  [
    'an interpreter that is not there',
    ['--python', '/nowhere/python'],
    '--python names /nowhere/python, which is not there',
  ],
  [
    'a debugger that is not there',
    ['--debug-port', '5999'],
    '--debug-port needs the package debugpy, which ',
  ],
])('%s: one sentence, and nothing left running', async (_, args, sentence) => {
  const failed = await dev(args).catch((error: Error) => error.message.trim().split('\n'));
  expect(failed).toEqual([expect.stringContaining(sentence)]);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

type Said = {
  type: string;
  event?: string;
  command?: string;
  success?: boolean;
  body?: Record<string, unknown>;
};

/** An editor at a debugger's port: it sends requests, and keeps what it hears. */
class Editor {
  readonly heard: Said[] = [];
  readonly #socket: Socket;
  #number = 0;
  #rest = '';

  private constructor(socket: Socket) {
    this.#socket = socket
      .setEncoding('utf8')
      .on('data', (piece: string) => this.#hear(piece))
      .on('error', () => undefined);
  }

  static async at(port: number): Promise<Editor> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Editor(socket);
  }

  ask(command: string, args: object = {}): void {
    this.#number += 1;
    const text = JSON.stringify({ seq: this.#number, type: 'request', command, arguments: args });
    this.#socket.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  event = (name: string): Promise<Said> =>
    until(
      `the debugger says ${name}`,
      async () => this.heard.find(({ event }) => event === name),
      60,
    );

  close(): void {
    this.#socket.destroy();
  }

  #hear(piece: string): void {
    this.#rest += piece;
    for (let found; (found = /^Content-Length: (\d+)\r\n\r\n/.exec(this.#rest)) !== null;) {
      const [end, length] = [found[0].length, Number(found[1])];
      if (this.#rest.length < end + length) return;
      this.heard.push(JSON.parse(this.#rest.slice(end, end + length)) as Said);
      this.#rest = this.#rest.slice(end + length);
    }
  }
}

async function stopsAt(port: number, line: number): Promise<Editor> {
  const editor = await Editor.at(port);
  editor.ask('initialize', { adapterID: 'test' });
  editor.ask('attach', { justMyCode: true });
  await editor.event('initialized');
  editor.ask('setBreakpoints', {
    source: { path: path.join(folder, 'graph.py') },
    breakpoints: [{ line }],
  });
  editor.ask('configurationDone');
  await until(
    'it is attached',
    async () => editor.heard.some(({ command }) => command === 'configurationDone'),
    30,
  );
  return editor;
}

test('a debugger attaches, a run stops at its breakpoint and goes on, and the port is open again after a reload', async () => {
  const modules = path.join(folder, '.debugpy');
  mkdirSync(modules);
  await run(path.join(inject('python'), 'pip'), [
    'install',
    '--quiet',
    '--no-deps',
    '--target',
    modules,
    'debugpy',
  ]);
  const port = await freePort();
  const running = await dev(['--log-json', '--debug-port', String(port)], { PYTHONPATH: modules });
  const opened = (): number =>
    lines(running).filter(({ msg }) => msg === `a debugger may attach at 127.0.0.1:${port}`).length;
  await until('the port is open', async () => opened() === 1, 60);
  const line =
    readFileSync(path.join(folder, 'graph.py'), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes('That was message')) + 1;
  const editor = await stopsAt(port, line);
  const answered = answer(running);
  const stopped = await editor.event('stopped');
  // Longer than a process may be silent.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  editor.ask('continue', { threadId: stopped.body?.['threadId'] });
  expect([stopped.body?.['reason'], await answered]).toEqual([
    'breakpoint',
    'That was message 1 of this thread.',
  ]);
  editor.ask('disconnect', { terminateDebuggee: false });
  await until(
    'it is detached',
    async () => editor.heard.some(({ command }) => command === 'disconnect'),
    30,
  );
  editor.close();
  change('graph.py', { 'That was message': 'Now it is' });
  await until(
    'the new graph answers',
    async () => (await answer(running)).startsWith('Now it is'),
    60,
  );
  await until('the port is open again', async () => opened() === 2, 60);
  (await stopsAt(port, line)).close();
}, 300_000);

test('a project with the layout of another server is served as it is', async () => {
  for (const [name, text] of Object.entries({
    'agent.py': `from typing import TypedDict
from langgraph.graph import StateGraph
from helper_of_lib import said
class State(TypedDict, total=False):
    said: str
graph = StateGraph(State).add_node("say", lambda state: {"said": said()}).add_edge("__start__", "say").compile()
`,
    'lib/helper_of_lib.py': 'def said(): return "from lib"\n',
    // Nothing of a folder hides a module of Python.
    'lib/types.py': 'raise RuntimeError("not this one")\n',
    '.env.example': 'A=1\n',
    'langgraph.json': JSON.stringify({
      dependencies: ['.', './lib'],
      graphs: { agent: { path: 'agent:graph', config_schema: './agent.py:State' } },
      env: '.env',
      package_manager: 'uv',
      checkpointer: { path: './agent.py:saver', backend: 'mongo' },
      store: { provider: 'redis' },
      dockerfile_lines: [],
      python_version: /version = (\d+\.\d+)/.exec(
        readFileSync(path.join(folder, '.venv/pyvenv.cfg'), 'utf8'),
      )![1],
    }),
  })) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  rmSync(config);
  const running = await dev();
  expect(await running.client.runs.wait(null, 'agent', { input: {} })).toEqual({
    said: 'from lib',
  });
  const told = [...running.output().matchAll(/"(\S+)" has no effect here: /g)].map(([, name]) =>
    String(name),
  );
  const expected = [
    'checkpointer.backend',
    'checkpointer.path',
    'graphs.agent.config_schema',
    'package_manager',
    'store.provider',
  ];
  expect(told.toSorted()).toEqual(expected);
  expect(running.output()).toContain('cp .env.example .env, then fill it in');
});
