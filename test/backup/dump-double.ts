import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Makes the folders between two containers of a Job. */
export async function newPipe(): Promise<string> {
  const pipe = await mkdtemp(join(tmpdir(), 'gx-pipe-'));
  for (const way of ['orders', 'answers']) await mkdir(join(pipe, way));
  return pipe;
}

/** Dumps these bytes as the container with pg_dump does, once it may begin. */
export async function dumpInto(
  pipe: string,
  bytes: Buffer,
  { status = '0', words = '', keys = '0a1b2c3d encryption.path' } = {},
): Promise<void> {
  execFileSync('mkfifo', [join(pipe, 'answers', 'dump')]);
  await writeFile(join(pipe, 'answers', 'facts'), `17.6\n3\n1\n${keys}\n2026-11-26T02:00:01Z\n`);
  await writeFile(join(pipe, 'answers', 'counts'), 'gx.run 2 77\ngx.thread 3 -42\n');
  await writeFile(join(pipe, 'answers', 'error'), words);
  await writeFile(join(pipe, 'answers', 'dump'), bytes);
  if (status !== 'killed') await writeFile(join(pipe, 'answers', 'end'), `${status}\n`);
}

/** Makes the pipe ready for another dump. */
export async function forgetDump(pipe: string): Promise<void> {
  for (const name of ['answers/dump', 'answers/end', 'orders/go', 'orders/stop'])
    await rm(join(pipe, name), { force: true });
}

/**
 * Reads a dump as the container with pg_restore does, once it may begin, and ends well only if all bytes came. Returns
 * them.
 */
export async function takeDump(pipe: string): Promise<Buffer> {
  const isThere = (name: string): boolean => existsSync(join(pipe, 'orders', name));
  while (!isThere('go')) await wait(20);
  const bytes = await readFile(join(pipe, 'answers', 'dump'));
  while (!isThere('whole') && !isThere('stop')) await wait(20);
  await writeFile(join(pipe, 'answers', 'end'), isThere('whole') ? '0\n' : '1\n');
  return bytes;
}
