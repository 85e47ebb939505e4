import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { environmentOfClasses } from './classes.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { serverMain } from './server-main.ts';
import { twinsOf } from './twins.ts';
import { until } from './until.ts';

export type AgentProcess = {
  url: string;
  client: Client;
  process: ChildProcess;
  /** Returns all that it has printed so far. */
  output(): string;
  kill(signal?: NodeJS.Signals): Promise<number | null>;
};

type Options = { database: string; config?: string; env?: Record<string, string>; port?: number };

const GRAPHS = 'test/agent/wire/graphs/gx.json';

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the agent server as a process of its own, without waiting for it. */
export async function spawnAgent({
  database,
  config = GRAPHS,
  env = {},
  port,
}: Options): Promise<AgentProcess> {
  const chosen = port ?? (await freePort());
  const twins = twinsOf(config);
  const child = spawn(process.execPath, [serverMain(), 'agent-server'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      ...COMPILE_CACHE,
      DATABASE_URI: database,
      GX_CONFIG: resolve(twins.config),
      ...twins.env,
      ...environmentOfClasses(),
      GX_SERVER_PORT: String(chosen),
      GX_SERVER_HOST: '127.0.0.1',
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  const url = `http://127.0.0.1:${chosen}`;
  return {
    url,
    client: new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } }),
    process: child,
    output: () => output,
    kill: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}

/** Starts the agent server and waits until it is ready to answer. */
export async function startAgent(options: Options): Promise<AgentProcess> {
  const agent = await spawnAgent(options);
  try {
    await until(
      'the agent server is ready',
      async () => {
        if (agent.process.exitCode !== null) throw new Error(agent.output());
        return (await fetch(`${agent.url}/ok`).catch(() => undefined))?.ok;
      },
      // Where other suites run beside this one, a start has taken more than a minute.
      110,
    );
  } catch (error) {
    agent.process.kill('SIGKILL');
    throw new Error(`${String(error)}\n${agent.output()}`, { cause: error });
  }
  return agent;
}

/** Starts an agent server that must not start. Returns its exit code and what it printed. */
export async function failedStart(
  options: Options,
): Promise<{ code: number | null; output: string }> {
  const agent = await spawnAgent(options);
  const timer = setTimeout(() => agent.process.kill('SIGKILL'), 60_000);
  await once(agent.process, 'close');
  clearTimeout(timer);
  return { code: agent.process.exitCode, output: agent.output() };
}
