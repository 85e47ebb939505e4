import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { Client } from '@langchain/langgraph-sdk';
import { runMain, step } from '../../dev/steps.ts';
import { until } from '../kit/until.ts';
import { Project } from '../matrix/project.ts';

/*
 * A developer's first hour: `npm pack`, the tarball in an empty project, `gx new`, `gx dev`, and a run by the SDK. It
 * runs on today's Node and on the lowest one, which does not strip types. Then a copy of each example, outside of the
 * checkout, as examples/README.md says.
 */

const NODES = ['^24', '22.15.0'];
const TOO_OLD = '20.19.0';

const execute = promisify(execFile);
/** Nothing here takes longer, even where packages come over a slow network. */
const run = (
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) => execute(command, args, { ...options, timeout: 240_000 });
type Failed = { code: number; stderr: string };

async function packed(folder: string): Promise<string> {
  const before = readFileSync('package.json', 'utf8');
  await run('npm', ['pack', '--loglevel=error', '--pack-destination', folder]);
  assert.equal(
    readFileSync('package.json', 'utf8'),
    before,
    "the checkout's package.json is what it was",
  );
  const [tarball = ''] = readdirSync(folder);
  assert.match(tarball, /\.tgz$/);
  assert.ok(statSync(join(folder, tarball)).size < 1_000_000, 'README.md says: under 1 MB');
  return join(folder, tarball);
}

/** A project with the package and a Node of its own, and the way in which a shell in it starts programs. */
async function installed(
  project: Project,
  tarball: string,
  node: string,
): Promise<NodeJS.ProcessEnv> {
  const own = {
    'gx-platform': `file:${tarball}`,
    node: `npm:node-${process.platform}-${process.arch}@${node}`,
  };
  await project.install(own, 'module');
  const bins = ['node_modules/.bin', 'node_modules/node/bin'].map((bin) =>
    join(project.folder, bin),
  );
  return { ...process.env, PATH: [...bins, process.env['PATH']].join(delimiter) };
}

async function firstHour(tarball: string, node: string): Promise<void> {
  await using project = new Project();
  const env = await installed(project, tarball, node);
  const gx = (...args: string[]) => run('gx', args, { cwd: project.folder, env });
  assert.match((await gx('--help')).stdout, /gx dev|dev +serve/);
  assert.match((await gx('dev', '--help')).stdout, /--port/);
  const wrong = await gx('serve').catch((error: Failed) => error);
  assert.ok(
    'code' in wrong &&
      wrong.code === 1 &&
      wrong.stderr === '"serve" is not a command; known: new, dev.\n',
  );

  await gx('new', 'my-agent');
  const again = await gx('new', 'my-agent').catch((error: Failed) => error);
  assert.ok('code' in again && again.stderr.includes('nothing is overwritten'));
  // Moved away, as a colleague's clone is, the project finds the command all the same, and nobody else's.
  await using elsewhere = new Project();
  const folder = join(elsewhere.folder, 'my-agent');
  await rename(join(project.folder, 'my-agent'), folder);
  // It has the file that it was packed in, because the path of that is one of this machine.
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
  const { devDependencies } = JSON.parse(manifest) as { devDependencies: Record<string, string> };
  const kept = `vendor/${basename(tarball)}`;
  assert.deepEqual(devDependencies, { 'gx-platform': `file:${kept}` });
  assert.ok(existsSync(join(folder, kept)));
  const alone = { ...env, PATH: env['PATH']?.split(delimiter).slice(1).join(delimiter) };
  // The Node of `alone` runs npm, too, which compares what each package asks for.
  await run('npm', ['install', '--engine-strict', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    env: alone,
  });
  await served(folder, alone, talkByTokens);
}

type Talk = (client: Client, apiUrl: string) => Promise<void>;

/** Runs `npm run dev` as the project's README says, and has one conversation. */
async function served(folder: string, env: NodeJS.ProcessEnv, talk: Talk): Promise<void> {
  const child = spawn('npm', ['run', 'dev', '--', '--port', '0'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  const address = (): string | undefined => /^Ready after .*: (http\S+)$/m.exec(output)?.[1];
  try {
    await until(
      'gx dev is ready',
      async () => address() !== undefined || child.exitCode !== null,
      90,
    );
    const url = address();
    assert.ok(url !== undefined, output);
    await talk(new Client({ apiUrl: url, apiKey: null }), url);
    for (const path of ['docs', 'chat', 'studio'])
      assert.equal((await fetch(`${url}/${path}`)).status, 200, path);
  } finally {
    // Ctrl-C goes to all of the terminal's processes. npm is one of them.
    process.kill(-child.pid!, 'SIGINT');
    await closed;
  }
  assert.doesNotMatch(output, /Error|ExperimentalWarning/);
}

async function talkByTokens(client: Client): Promise<void> {
  const { thread_id } = await client.threads.create();
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  const stream = client.runs.stream(thread_id, 'agent', { input, streamMode: ['messages-tuple'] });
  const events = await Array.fromAsync(stream as AsyncIterable<{ event: string; data: unknown }>);
  const tokens = events
    .filter(({ event }) => event === 'messages')
    .map(({ data }) => (data as [{ content: string }])[0].content);
  assert.ok(
    tokens.length > 5,
    `tokens are streamed one by one, but ${JSON.stringify(events)} came`,
  );
  assert.match(tokens.join(''), /^You said "hello"\./);
  assert.equal((await client.threads.get(thread_id)).status, 'idle');
}

/** The last words of the agent, or what it asks. */
async function ask(client: Client, graph: string, payload: object, thread?: string) {
  const waiting =
    thread === undefined
      ? client.runs.wait(null, graph, payload)
      : client.runs.wait(thread, graph, payload);
  const values = (await waiting) as {
    messages: { content: string }[];
    __interrupt__?: unknown[];
  };
  assert.ok(Array.isArray(values.messages), JSON.stringify(values));
  return JSON.stringify(values.__interrupt__ ?? values.messages.at(-1)?.content);
}

const say = (content: string) => ({ input: { messages: [{ role: 'human', content }] } });

/** What the README of each example, or that of all examples, tells its reader to say, and what comes back. */
const EXAMPLES: Record<string, Talk> = {
  tools: async (client) =>
    assert.match(await ask(client, 'tools', say('What is the weather in Paris?')), /sunny/),
  async approval(client) {
    const { thread_id } = await client.threads.create();
    const asked = await ask(client, 'approval', say('we meet on Monday'), thread_id);
    assert.match(asked, /we meet on Monday/);
    const answer = { command: { resume: 'yes' } };
    assert.match(await ask(client, 'approval', answer, thread_id), /The mail is sent/);
  },
  async memory(client) {
    await ask(client, 'memory', say('Remember that I like tea'));
    assert.match(await ask(client, 'memory', say('What do you know about me?')), /I like tea/);
  },
  'ag-ui': async (client) => assert.match(await ask(client, 'shopping', say('add milk')), /milk/),
  subagents: async (client) =>
    assert.match(await ask(client, 'subagents', say('What about green tea?')), /green tea/),
  echo: async (client) =>
    assert.match(await ask(client, 'echo', say('hello out there')), /message 1 of this thread/),
  async js(client) {
    const { thread_id } = await client.threads.create();
    assert.match(await ask(client, 'approval', say('good news'), thread_id), /good news/);
    const answer = { command: { resume: 'yes' } };
    assert.match(await ask(client, 'approval', answer, thread_id), /good news/);
  },
};

/** Copies the example, and does what examples/README.md says of a copy. */
async function copied(example: string, talk: Talk, tarball: string): Promise<void> {
  await using project = new Project();
  const folder = join(project.folder, 'my-agent');
  // Whoever tried the example in the checkout has data there, too.
  const isSource = (file: string) => !/\/(\.gx|node_modules)$/.test(file);
  cpSync(join('examples', example), folder, { recursive: true, filter: isSource });
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', '--save-dev', tarball, ...quiet], { cwd: folder });
  // The checkout's own programs are left out, so that the project finds nothing but its own.
  const outside = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((place) => !resolve(place).startsWith(process.cwd()));
  const PATH = [join(process.execPath, '..'), ...outside].join(delimiter);
  await served(folder, { ...process.env, PATH }, talk);
}

/** Returns what `gx dev` says on a Node that is too old. */
async function refused(tarball: string): Promise<void> {
  await using project = new Project();
  const env = await installed(project, tarball, TOO_OLD);
  const failed = await run('gx', ['dev'], { cwd: project.folder, env }).catch(
    (error: Failed) => error,
  );
  assert.ok('code' in failed && failed.code === 1);
  assert.equal(failed.stderr, `gx needs Node 22.15 or newer, and this is Node ${TOO_OLD}.\n`);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-package-'));
  try {
    const tarball = await step('npm pack', () => packed(resolve(folder)));
    for (const node of NODES)
      await step(`first hour on Node ${node}`, () => firstHour(tarball, node));
    await step(`a sentence on Node ${TOO_OLD}`, () => refused(tarball));
    const others = readdirSync('examples').filter(
      (name) => existsSync(join('examples', name, 'package.json')) && name !== 'new',
    );
    assert.deepEqual(Object.keys(EXAMPLES).toSorted(), others.toSorted(), 'each example is copied');
    for (const [example, talk] of Object.entries(EXAMPLES))
      await step(`a copy of ${example}`, () => copied(example, talk, tarball));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await runMain(main);
