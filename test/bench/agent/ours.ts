import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { freePort, startServer, type BenchServer } from './servers.ts';

/** The flags of V8 that the server's image sets. */
export const NODE_OPTIONS = /GX_CONFIG=\S+ NODE_OPTIONS="([^"]+)"/.exec(readFileSync('Dockerfile', 'utf8'))![1]!;

const COMPILE_CACHE = resolve('.run/bench/compile-cache');

export const GRAPHS = resolve('test/bench/agent/graphs/gx.json');

type Options = { database: string; slots?: number };

/** Fills the cache of compiled sources, as the image's build does: anew, because V8 takes nothing that was compiled under other flags. */
export function compile(): void {
  rmSync(COMPILE_CACHE, { recursive: true, force: true });
  const env = { PATH: process.env.PATH, NODE_OPTIONS, NODE_COMPILE_CACHE: COMPILE_CACHE };
  execFileSync(process.execPath, ['src/agent/compile-cache.ts'], { env, stdio: 'ignore' });
}

/** This server as it is deployed: one process, its defaults, and ten runs at a time. */
export async function startOurs({ database, slots = 10 }: Options): Promise<BenchServer> {
  const port = await freePort();
  const env = {
    NODE_ENV: 'production',
    NODE_OPTIONS,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DATABASE_URI: database,
    GX_CONFIG: GRAPHS,
    GX_SERVER_HOST: '127.0.0.1',
    GX_SERVER_PORT: String(port),
    N_JOBS_PER_WORKER: String(slots),
  };
  return startServer({ command: process.execPath, args: ['src/main.ts', 'agent-server'], env, health: '/ok', port });
}
