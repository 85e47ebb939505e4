import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { freePort } from './agent-server.ts';
import { until } from './until.ts';

/** A real key-value store, as the image of the platform has it. It comes back at the same address, and empty. */
export type TestValkey = {
  uri: string;
  /** Ends it without a word. */
  kill(): Promise<void>;
  /** Lets it stand still, with its connections open; or go on. */
  stand(): void;
  goOn(): void;
  start(): Promise<void>;
  /** Returns what it answers to a command. */
  ask(...words: string[]): Promise<string>;
};

export async function startValkey(options: string[] = []): Promise<TestValkey> {
  const tools = await ensureTools(['valkey-server', 'valkey-cli']);
  const port = await freePort();
  const password = 'a-password';
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--requirepass',
    password,
    ...options,
  ];
  const ask = async (...words: string[]): Promise<string> => {
    const cli = spawn(tools['valkey-cli'], [
      '-p',
      String(port),
      '-a',
      password,
      '--no-auth-warning',
      ...words,
    ]);
    let said = '';
    cli.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(cli, 'close');
    return said.trim();
  };
  const run = (): ReturnType<typeof spawn> =>
    spawn(tools['valkey-server'], args, { stdio: 'ignore' });
  let server = run();
  const start = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) server = run();
    await until('the key-value store answers', async () => (await ask('ping')) === 'PONG');
  };
  await start();
  return {
    uri: `redis://:${password}@127.0.0.1:${port}/0`,
    kill: async () => {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const closed = once(server, 'exit');
      server.kill('SIGKILL');
      await closed;
    },
    stand: () => void server.kill('SIGSTOP'),
    goOn: () => void server.kill('SIGCONT'),
    start,
    ask,
  };
}
