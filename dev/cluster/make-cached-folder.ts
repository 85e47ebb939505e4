import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Makes a folder of the cache: it appears there whole, or not at all. `fill` writes its files. */
export async function makeCachedFolder(
  folder: string,
  fill: (unfinished: string) => Promise<void>,
): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`));
  try {
    await fill(unfinished);
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}
