import { existsSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { blobPath, blobsOf, indexOf, nameOf } from './archive.ts';
import type { Engine } from './engine.ts';
import { folders } from './folders.ts';

const KEPT = 3;

/** Keeps the newest archives of an image and forgets the others, with what only they were made of. */
export async function prune(engine: Engine, name: string): Promise<void> {
  const pattern = new RegExp(`^${name}-([0-9a-f]{12})\\.tar$`);
  const found = (await readdir(folders.cache())).flatMap((file) => pattern.exec(file)?.[1] ?? []);
  const aged = await Promise.all(
    found.map(async (key) => ({ key, time: (await stat(join(folders.cache(), `${name}-${key}.tar`))).mtimeMs })),
  );
  const old = aged
    .toSorted((a, b) => b.time - a.time)
    .slice(KEPT)
    .map(({ key }) => `docker.io/gx/${name}:dev-${key}`);
  for (const reference of old) {
    await rm(folders.archive(reference), { force: true });
    await engine.remove(reference);
  }
  if (old.length > 0) await forgetLayers(old);
}

async function forgetLayers(references: readonly string[]): Promise<void> {
  const layout = folders.layout();
  if (!existsSync(join(layout, 'index.json'))) return;
  const index = await indexOf(layout);
  const manifests = index.manifests.filter((manifest) => !references.includes(nameOf(manifest)));
  await writeFile(join(layout, 'index.json'), JSON.stringify({ ...index, manifests }));
  const used = new Set((await Promise.all(manifests.map((manifest) => blobsOf(layout, manifest)))).flat().map(blobPath));
  for (const file of await readdir(join(layout, 'blobs', 'sha256'))) {
    const path = blobPath(`sha256:${file}`);
    if (!used.has(path)) await rm(join(layout, path), { force: true });
  }
}
