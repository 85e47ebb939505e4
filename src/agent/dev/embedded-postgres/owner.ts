import { readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { StartError } from '../../../errors.ts';

type Owner = { pid: number; birth: string; what: string };

/** Milliseconds within which a Postgres whose owner was killed has stopped by itself. */
const STOPS_WITHIN = 30_000;

/** Claims the data for this process, or throws an error that names the owner. Postgres' own lock has the last word. */
export async function claim(folder: string, what: string): Promise<() => void> {
  const file = path.join(folder, 'owner.json');
  const owner = readOwner(file);
  if (owner !== undefined && isAlive(owner.pid) && readBirth(owner.pid) === owner.birth)
    throw buildInUseError(folder, owner);
  rmSync(file, { force: true });
  write(file, { pid: process.pid, birth: readBirth(process.pid), what }, folder);
  const release = (): void => rmSync(file, { force: true });
  await waitUntilFree(folder).catch((error: unknown) => {
    release();
    throw error;
  });
  return release;
}

const buildInUseError = (folder: string, owner?: Owner): StartError =>
  new StartError(
    `The data in ${folder} is in use by ${owner === undefined ? 'another start' : `${owner.what} (process ${owner.pid})`}: stop that one first.`,
  );

/** Writes the mark of the owner. Of two processes that start at the same time, the first has it. */
function write(file: string, owner: Owner, folder: string): void {
  try {
    writeFileSync(file, JSON.stringify(owner), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw buildInUseError(folder, readOwner(file));
    throw error;
  }
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

const BIRTH_FIELD = 19;

/**
 * Returns when a process was born, in ticks since the machine started. That tells it from a later process with its
 * number. Only Linux says so.
 */
const readBirth = (pid: number): string => readStat(pid)?.[BIRTH_FIELD] ?? '';

function readStat(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

async function waitUntilFree(folder: string): Promise<void> {
  const deadline = Date.now() + STOPS_WITHIN;
  for (let pid = findPostmaster(folder); pid !== undefined; pid = findPostmaster(folder)) {
    if (Date.now() > deadline)
      throw new StartError(
        `The data in ${folder} is in use by a Postgres (process ${pid}) that does not stop: stop it, then start again.`,
      );
    await wait(20);
  }
}

/**
 * Returns the process that serves the data now. After a restart of the container or machine, another program may have
 * its number.
 */
function findPostmaster(folder: string): number | undefined {
  const data = path.join(folder, 'data');
  const file = path.join(data, 'postmaster.pid');
  let pid: number;
  try {
    pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
  if (!isAlive(pid)) return undefined;
  if (process.platform !== 'linux' || readWorkingFolder(pid) === data) return pid;
  rmSync(file, { force: true });
  return undefined;
}

function readWorkingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** Returns whether the process lives. A zombie, which a container without a reaper keeps forever, does not. */
function isAlive(pid: number): boolean {
  if (readStat(pid)?.[0] === 'Z') return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
