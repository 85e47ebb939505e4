import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { Client } from '@langchain/langgraph-sdk';
import { COMPILE_CACHE } from './compile-cache.ts';
import { until } from './until.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

export type DevServer = { url: string; client: Client; output(): string; stop(): Promise<void> };
type Options = {
  args: string[];
  env?: Record<string, string>;
  /** Where it is typed. */
  folder?: string;
  /** Seconds within which it must be ready. */
  seconds?: number;
};

/** Starts `gx dev` at a free port, and returns it once it is ready. Throws with its output where it ends before. */
export async function startDev({
  args,
  env = {},
  folder = ROOT,
  seconds = 90,
}: Options): Promise<DevServer> {
  const child = spawn(
    process.execPath,
    [path.join(ROOT, 'src/gx.ts'), 'dev', '--port', '0', ...args],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...COMPILE_CACHE, ...env },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  const closed = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill('SIGINT');
    await closed;
  };
  const ready = async (): Promise<string | true | undefined> =>
    /^Ready after .*: (http:\S+)$/m.exec(output)?.[1] ?? (child.exitCode !== null || undefined);
  const url = await until('gx dev is ready', ready, seconds).catch(async (error: Error) => {
    await stop();
    throw new Error(`${error.message}\n${output}`, { cause: error });
  });
  if (url === true) throw new Error(output);
  return {
    url,
    client: new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } }),
    output: () => output,
    stop,
  };
}
