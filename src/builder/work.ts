import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/jobs/image-build.ts';

/** Folders and files of a build, below the folder that all its stages share. */
export const getWorkPaths = (work: string) => ({
  source: path.join(work, 'source'),
  image: path.join(work, 'image'),
  home: path.join(work, 'home'),
  tools: path.join(work, 'tools'),
  production: path.join(work, 'production'),
});

/**
 * Files and folders that are written before any command of the repository runs. In a pod those commands can't write
 * there, so the stage with the registry's credential trusts these files, and no others.
 */
export const getTrustedPaths = ({ kept }: ImageBuildConfig) => ({
  commit: path.join(kept, 'commit.json'),
  dockerfile: path.join(kept, 'Dockerfile'),
  plan: path.join(kept, 'plan.json'),
  cache: path.join(kept, 'cache'),
  fetched: path.join(kept, 'fetched.json'),
});

/** The commit that was cloned. `at` is its committer's time, in ISO 8601. */
export type Cloned = { commit: string; at: string };

/** Keeps a value for the stages to come. */
export function keepJson(file: string, value: unknown): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value)}\n`);
}

/** Returns the JSON of a file that an earlier stage kept. */
export const readStageJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T;

/**
 * Returns the real path of a file below a folder; undefined if it is not there, or if a link leads out of the folder,
 * where the credentials of a stage may lie.
 */
export function resolveRealFile(folder: string, relative: string): string | undefined {
  const file = path.resolve(folder, relative);
  if (!existsSync(file)) return undefined;
  const real = realpathSync(file);
  return isWithin(realpathSync(folder), real) ? real : undefined;
}

/** Returns whether a path is a folder or lies in it. */
export const isWithin = (folder: string, file: string): boolean => {
  const relative = path.relative(folder, file);
  return (
    relative === '' ||
    (!relative.startsWith(`..${path.sep}`) && relative !== '..' && !path.isAbsolute(relative))
  );
};
