import { existsSync } from 'node:fs';
import { link, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import process from 'node:process';
import { runProcess } from '../../dev/commands.ts';
import type { BuiltImage } from '../../dev/images/build.ts';
import { folders } from '../../dev/images/folders.ts';
import { runSteps } from '../../dev/images/run-steps.ts';
import type { Report } from '../../dev/steps.ts';

const LIST = `import { engineNamed, referencesOf } from './dev/images/build.ts';
console.log(JSON.stringify(referencesOf(await engineNamed())));`;

/** Returns the reference that each image of a release's files has, whether it is built or not. */
export async function referencesIn(source: string): Promise<Record<string, string>> {
  return JSON.parse(
    await runProcess(process.execPath, ['--input-type=module', '--eval', LIST], { cwd: source }),
  ) as Record<string, string>;
}

type Wanted = { references: Record<string, string>; names: readonly string[]; report: Report };

/**
 * Returns images of an earlier release, built from its files by its own program. They are kept beside those of today,
 * of which the cache has the newest two alone.
 */
export async function imagesOfRelease(
  source: string,
  { references, names, report }: Wanted,
): Promise<BuiltImage[]> {
  const folder = join(folders.cache(), 'releases');
  const archiveOf = (name: string): string => folders.archive(references[name] ?? name);
  const kept = names.map((name) => ({
    name,
    reference: references[name] ?? '',
    archive: join(folder, basename(archiveOf(name))),
  }));
  if (kept.every(({ archive }) => existsSync(archive))) return kept;
  await runSteps([process.execPath, 'dev/images/main.ts', ...names], {
    step: /: (building|built)/,
    report,
    cwd: source,
  });
  await mkdir(folder, { recursive: true });
  for (const { name, archive } of kept)
    if (!existsSync(archive)) await link(archiveOf(name), archive);
  return kept;
}
