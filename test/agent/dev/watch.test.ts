import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchFolders } from '../../../src/agent/dev/watch.ts';
import { until } from '../../kit/until.ts';

/** Milliseconds. They are longer than the silence that ends a burst. */
const BURST = 400;

describe('watching the files of an agent', () => {
  let folder: string;
  let told: string[];
  let watcher: { stop(): void };
  const write = (name: string): void =>
    writeFileSync(path.join(folder, name), String(Math.random()));
  const toldOf = (count: number): Promise<boolean> =>
    until(`told ${count} times`, async () => told.length === count, 5);

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'gx-watch-'));
    for (const name of ['src', 'node_modules/some', '.gx/postgres', '.git'])
      mkdirSync(path.join(folder, name), { recursive: true });
    told = [];
    watcher = watchFolders([folder], (file) => told.push(path.relative(folder, file)));
  });
  afterEach(() => {
    watcher.stop();
    rmSync(folder, { recursive: true });
  });

  test('a burst of changes is told once, by its first file', async () => {
    for (const name of ['src/a.ts', 'src/b.ts', 'gx.json']) write(name);
    await toldOf(1);
    await wait(BURST);
    expect(told).toEqual(['src/a.ts']);
  });

  test('a file in a folder made later', async () => {
    mkdirSync(path.join(folder, 'src', 'later'));
    await toldOf(1);
    write('src/later/c.ts');
    await toldOf(2);
    expect(told.at(-1)).toBe('src/later/c.ts');
  });

  test('neither the packages nor the compiled code of Python', async () => {
    for (const name of ['environment', 'src/__pycache__']) mkdirSync(path.join(folder, name));
    write('environment/pyvenv.cfg');
    mkdirSync(path.join(folder, 'environment/lib'));
    await wait(BURST);
    const before = told.length;
    for (const name of ['environment/lib/x.py', 'src/__pycache__/a.pyc']) write(name);
    await wait(BURST);
    expect(told).toHaveLength(before);
    write('src/agent.py');
    await toldOf(before + 1);
    expect(told.at(-1)).toBe('src/agent.py');
  });

  test('a changed .env', async () => {
    write('.env');
    await toldOf(1);
    expect(told).toEqual(['.env']);
  });

  test('packages, data, tools and logs are passed over', async () => {
    for (const name of [
      'node_modules/some/index.js',
      '.gx/postgres/log',
      '.git/index',
      'src/out.log',
      'src/.a.ts.swp',
    ])
      write(name);
    await wait(BURST);
    expect(told).toEqual([]);
  });

  test('nothing is told after the end', async () => {
    write('src/a.ts');
    watcher.stop();
    await wait(BURST);
    expect(told).toEqual([]);
  });
});
