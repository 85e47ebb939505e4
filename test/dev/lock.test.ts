import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, expect, test } from 'vitest';
import { chooseLock } from '../../dev/lock.ts';

const cache = mkdtempSync(join(tmpdir(), 'gx-lock-'));
process.env['XDG_CACHE_HOME'] = cache;
afterAll(() => rmSync(cache, { recursive: true }));

/** Starts a process that takes the lock, says so, and never ends. */
async function holder(platform: string, name: string) {
  const module = JSON.stringify(resolve('dev/lock.ts'));
  const program = `const { chooseLock } = await import(${module});
    console.log((await chooseLock(${JSON.stringify(platform)})(${JSON.stringify(name)})) === undefined ? 'taken' : 'mine');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return { said: said.toString().trim(), child };
}

test.each(['linux', 'darwin'])(
  'a lock of %s is free again when its holder is killed',
  async (platform) => {
    const name = `test-${process.pid}`;
    const { said, child } = await holder(platform, name);
    expect(said).toBe('mine');
    expect(await chooseLock(platform)(name)).toBeUndefined();
    const other = await chooseLock(platform)(`${name}-other`);
    expect(other).toBeDefined();
    other?.release();
    child.kill('SIGKILL');
    await once(child, 'close');
    const lock = await chooseLock(platform)(name);
    expect(lock).toBeDefined();
    expect(await chooseLock(platform)(name)).toBeUndefined();
    lock?.release();
    const again = await chooseLock(platform)(name);
    expect(again).toBeDefined();
    again?.release();
  },
);
