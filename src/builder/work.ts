import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Folders and files of a build, below the folder that all its stages share. */
export const placesIn = (work: string) => ({
  source: path.join(work, 'source'),
  commit: path.join(work, 'commit.json'),
  dockerfile: path.join(work, 'Dockerfile'),
  plan: path.join(work, 'plan.json'),
  cache: path.join(work, 'cache'),
  image: path.join(work, 'image'),
  home: path.join(work, 'home'),
  tools: path.join(work, 'tools'),
  production: path.join(work, 'production'),
});

/** The commit that was cloned. `at` is its committer's time, in ISO 8601. */
export type Cloned = { commit: string; at: string };

/** Keeps a value for the stages to come. */
export const keepJson = (file: string, value: unknown): void => writeFileSync(file, `${JSON.stringify(value)}\n`);

/** Returns what an earlier stage kept. */
export const keptJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T;

/**
 * Returns the real path of a file below a folder; undefined if it is not there, or if a link leads out of the folder,
 * where the credentials of a stage may lie.
 */
export function realFileIn(folder: string, relative: string): string | undefined {
  const file = path.resolve(folder, relative);
  if (!existsSync(file)) return undefined;
  const real = realpathSync(file);
  return isWithin(realpathSync(folder), real) ? real : undefined;
}

/** Returns whether a path is a folder or lies in it. */
export const isWithin = (folder: string, file: string): boolean => {
  const relative = path.relative(folder, file);
  return relative === '' || (!relative.startsWith(`..${path.sep}`) && relative !== '..' && !path.isAbsolute(relative));
};
