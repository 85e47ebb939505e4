import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { until } from '../kit/until.ts';

/** Starts `dev` as a user does, on the Node of their choice. */
export async function startDev(
  node: string,
  config: string,
): Promise<{ url: string } & AsyncDisposable> {
  const args = ['src/main.ts', 'dev', '--config', config, '--port', '0', '--no-reload', '--reset'];
  const child = spawn(node, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill();
    await closed;
  };
  const address = (): string | undefined => /^Ready after .*: (http\S+)$/m.exec(output)?.[1];
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await until('dev is ready', async () => address() !== undefined || isOver(), 60).catch(
    () => undefined,
  );
  const url = address();
  if (url !== undefined) return { url, [Symbol.asyncDispose]: stop };
  await stop();
  throw new Error(`dev does not start:\n${output}`);
}
