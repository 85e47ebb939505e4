import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '../../../errors.ts';
import type { Account } from './account.ts';

export const USER = 'gx';

type Installation = { folder: string; bin: string; account: Account | undefined };

/**
 * Makes the data folder once, and keeps its password beside it. A start that was cut off leaves nothing that a later
 * one would take for data.
 */
export async function ensureDataFolder({
  folder,
  bin,
  account,
}: Installation): Promise<{ data: string; password: string }> {
  const data = path.join(folder, 'data');
  const passwordFile = path.join(folder, 'password');
  if (existsSync(path.join(data, 'PG_VERSION'))) {
    checkVersion(data, bin);
    return { data, password: readFileSync(passwordFile, 'utf8') };
  }
  const password = randomBytes(24).toString('base64url');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account !== undefined) chownSync(passwordFile, account.uid, account.gid);
  const half = `${data}.new`;
  rmSync(half, { recursive: true, force: true });
  await runInitdb({ folder, bin, account }, half, passwordFile);
  renameSync(half, data);
  return { data, password };
}

async function runInitdb(
  { bin, folder, account }: Installation,
  data: string,
  passwordFile: string,
): Promise<void> {
  const access = ['--username', USER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
  const words = [
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--locale-provider',
    'builtin',
    '--builtin-locale',
    'C.UTF-8',
  ];
  const child = spawn(
    path.join(bin, 'initdb'),
    ['--pgdata', data, '--no-sync', '--no-instructions', ...access, ...words],
    {
      cwd: folder,
      env: buildPostgresEnvironment(bin),
      stdio: ['ignore', 'ignore', 'pipe'],
      ...account,
    },
  );
  let complaint = '';
  child.stderr?.on('data', (piece: Buffer) => (complaint += piece.toString()));
  const [code] = (await once(child, 'close').catch((error: Error) => [error.message])) as [
    number | string | null,
  ];
  if (code !== 0)
    throw new StartError(
      `Postgres can't make its data folder ${data}: ${complaint.trim() || String(code)}`,
    );
}

/** Returns the environment of the binaries. The library path is for systems whose loader ignores the one in them. */
export const buildPostgresEnvironment = (bin: string): NodeJS.ProcessEnv => ({
  PATH: '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
  LD_LIBRARY_PATH: path.join(path.dirname(bin), 'lib'),
});

function checkVersion(data: string, bin: string): void {
  const made = readFileSync(path.join(data, 'PG_VERSION'), 'utf8').trim();
  const sample = readFileSync(
    path.join(path.dirname(bin), 'share', 'postgresql', 'postgres.bki'),
    'utf8',
  );
  const ours = /^# PostgreSQL (\d+)/.exec(sample)?.[1];
  if (ours !== undefined && ours !== made)
    throw new StartError(
      `The data in ${data} was made by Postgres ${made}, and this is Postgres ${ours}: start with --reset to delete it.`,
    );
}
