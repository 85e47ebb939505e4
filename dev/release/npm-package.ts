import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runProcess } from '../commands.ts';
import { readDevConfig, extendEnvironment } from '../env.ts';
import type { Manifest } from './bills.ts';

/** Packs the package for developers of a commit's files into the folder. Returns the file. */
export async function packNpm(source: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const env = extendEnvironment({
    PATH: [join(source, 'node_modules', '.bin'), ...readDevConfig().path].join(delimiter),
  });
  await runProcess('npm', ['pack', '--loglevel=error', '--pack-destination', folder], {
    cwd: source,
    env,
  });
  const [file = ''] = readdirSync(folder);
  return join(folder, file);
}

/** Returns the package.json of a packed package. */
export async function readPackedManifest(file: string): Promise<Manifest> {
  return JSON.parse(await runProcess('tar', ['-xOf', file, 'package/package.json'])) as Manifest;
}
