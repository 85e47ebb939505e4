import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freshDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';

/** `graphs` are files and exports of this checkout, `more` other keys of gx.json. `dotEnv` is the `.env` beside it. */
export type DevProject = { graphs: Record<string, string>; dotEnv: string; more?: object };

/** `change` writes another `.env`, as a person does. `dev` follows it. */
export type DevServer = {
  url: string;
  output(): string;
  change(dotEnv: string): void;
  stop(): Promise<void>;
};

/** Starts `dev` for a project in a folder of its own, on a database of its own. */
export async function startDev({ graphs, dotEnv, more }: DevProject): Promise<DevServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-dev-chat-'));
  const config = join(folder, 'gx.json');
  const files = Object.fromEntries(Object.entries(graphs).map(([id, file]) => [id, resolve(file)]));
  writeFileSync(config, JSON.stringify({ graphs: files, ...more }));
  const change = (text: string): void => writeFileSync(join(folder, '.env'), text);
  change(dotEnv);
  const database = await freshDatabase({ migrated: false });
  const args = ['dev', '--port', '0', '--config', config, '--database-uri', database.uri];
  const child = spawn(process.execPath, ['src/main.ts', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  const closed = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await closed;
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const url = await until(
      'dev is ready',
      () => /Ready after .*: (http:\S+)/.exec(output)?.[1] ?? child.exitCode !== null,
      90,
    );
    if (url === true) throw new Error('It has ended.');
    return { url, output: () => output, change, stop };
  } catch (error) {
    await stop();
    throw new Error(`${String(error)}\n${output}`, { cause: error });
  }
}
