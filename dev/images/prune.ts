import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from './engine.ts';
import { folders } from './folders.ts';
import { NO_REGISTRY } from './registry.ts';

const KEPT = 2;

/** Keeps the newest archives of an image, and removes the others and unfinished ones. */
export async function prune(engine: Engine, name: string): Promise<void> {
  const pattern = new RegExp(`^${name}-([0-9a-f]{12})\\.tar(.*)$`);
  const found = (await readdir(folders.cache())).flatMap((file) => {
    const [, key, rest] = pattern.exec(file) ?? [];
    return key === undefined
      ? []
      : [{ file: join(folders.cache(), file), key, isWhole: rest === '' }];
  });
  for (const { file } of found.filter(({ isWhole }) => !isWhole))
    await rm(file, { recursive: true, force: true });
  const aged = await Promise.all(
    found
      .filter(({ isWhole }) => isWhole)
      .map(async ({ file, key }) => ({ file, key, time: (await stat(file)).mtimeMs })),
  );
  for (const { file, key } of aged.toSorted((a, b) => b.time - a.time).slice(KEPT)) {
    await rm(file, { force: true });
    await engine.remove(`${NO_REGISTRY}/gx/${name}:dev-${key}`);
  }
}
