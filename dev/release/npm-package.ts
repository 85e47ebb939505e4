import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { command } from '../commands.ts';
import { devConfig, environmentWith } from '../env.ts';
import type { Manifest } from './bills.ts';

/** Packs the package for developers of a commit's files into the folder. Returns the file. */
export async function packNpm(source: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const env = environmentWith({ PATH: [join(source, 'node_modules', '.bin'), ...devConfig().path].join(delimiter) });
  await command('npm', ['pack', '--loglevel=error', '--pack-destination', folder], { cwd: source, env });
  const [file = ''] = readdirSync(folder);
  return join(folder, file);
}

/** Returns the package.json of a packed package. */
export async function manifestIn(file: string): Promise<Manifest> {
  return JSON.parse(await command('tar', ['-xOf', file, 'package/package.json'])) as Manifest;
}
