import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { startFrom } from './server-main.ts';

/** Bundles the server once for the whole run, as the images do. The tests start some 500 of them. */
export default async function setup(): Promise<() => Promise<void>> {
  // Packages that stay outside of the bundle are found from here.
  await mkdir('.run', { recursive: true });
  const folder = await mkdtemp(path.resolve('.run/bundle-'));
  await promisify(execFile)(process.execPath, ['src/bundle.ts', folder]);
  startFrom(path.join(folder, 'main.js'));
  return () => rm(folder, { recursive: true, force: true });
}
