import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { UsageError } from '../../../dev/errors.ts';
import { memorySettings } from '../../kit/image-environment.ts';
import { pythonTools } from '../../python/tools.ts';
import { freePort, startServer, type BenchServer } from './servers.ts';

/**
 * `config` is a file beside the graphs, `env` what else the server is told. `apart`: one process answers and another
 * executes, so that every run goes through the queue.
 */
export type ServerSettings = {
  database: string;
  slots?: number;
  apart?: boolean;
  config?: string;
  env?: Record<string, string>;
};

/** A checkout of this project, whose agent server is measured. Nothing is written into its folder but .run. */
export type Checkout = {
  /** What the server's image says of the use of memory, as variables. */
  memory: Record<string, string>;
  /**
   * Bundles the server and fills the cache of compiled sources, as the image's build does. The cache is filled anew,
   * because V8 takes nothing that was compiled under other flags. A checkout of before has no bundle.
   */
  compile(): void;
  /**
   * Starts the server with its defaults: one process, or two. It runs ten runs at a time unless `slots` says otherwise.
   */
  start(settings: ServerSettings): Promise<BenchServer>;
};

/** Returns the checkout in `folder`. Its compiled sources go to `cache` in this checkout's .run/bench. */
export function checkoutAt(folder: string, cache: string): Checkout {
  const memory = memorySettings('gx-agent-server', folder);
  const bundle = existsSync(join(folder, 'src/bundle.ts'))
    ? join(folder, '.run/bench-bundle')
    : undefined;
  const compileCache = resolve('.run/bench', cache);
  const compiled = { ...memory, NODE_COMPILE_CACHE: compileCache };
  const startOne = async ({
    database,
    slots = 10,
    config = 'gx.json',
    env: more = {},
  }: ServerSettings): Promise<BenchServer> => {
    const port = await freePort();
    const env = {
      ...compiled,
      NODE_ENV: 'production',
      DATABASE_URI: database,
      GX_CONFIG: join(folder, 'test/bench/agent/graphs', config),
      GX_SERVER_HOST: '127.0.0.1',
      GX_SERVER_PORT: String(port),
      N_JOBS_PER_WORKER: String(slots),
      ...more,
    };
    const args = [bundle === undefined ? 'src/main.ts' : join(bundle, 'main.js'), 'agent-server'];
    const server = await startServer({
      command: process.execPath,
      args,
      cwd: folder,
      env,
      health: '/ok',
      port,
    });
    return { ...server, own: { database, slots } };
  };
  return {
    memory,
    compile: () => {
      rmSync(compileCache, { recursive: true, force: true });
      const run = (...args: string[]): unknown =>
        execFileSync(process.execPath, args, {
          cwd: folder,
          env: { PATH: process.env.PATH, ...compiled },
          stdio: 'ignore',
        });
      if (bundle === undefined) return void run('src/compile-cache.ts');
      rmSync(bundle, { recursive: true, force: true });
      run('src/bundle.ts', bundle);
      run(join(bundle, 'compile-cache.js'));
    },
    start: async ({ apart = false, ...settings }) => {
      const server = await startOne(settings);
      return apart ? together(await startOne({ ...settings, slots: 0 }), server) : server;
    },
  };
}

/** Returns the process that answers, as a server that goes with the one that executes. */
const together = (answers: BenchServer, executes: BenchServer): BenchServer => ({
  ...answers,
  ...(executes.own && { own: executes.own }),
  pause: () => [answers, executes].forEach((one) => one.pause()),
  resume: () => [answers, executes].forEach((one) => one.resume()),
  stop: async () => {
    await answers.stop();
    await executes.stop();
  },
});

/** Returns what a server is told so that its graphs are the twins in Python. */
export const pythonSettings = async (): Promise<Partial<ServerSettings>> => ({
  config: '../../peers/gx.json',
  env: { GX_PYTHON: `${await pythonTools()}/python` },
});

export const own = checkoutAt(resolve('.'), 'compile-cache');

/** Throws a `UsageError` that says what is wrong with the folder. */
export function checkoutBeside(folder: string): Checkout {
  try {
    return checkoutAt(resolve(folder), 'compile-cache-beside');
  } catch (error) {
    throw new UsageError(
      `--beside ${folder}: not a checkout of this project (${(error as Error).message})`,
      { cause: error },
    );
  }
}
