import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../dev/images/list.ts';
import { parseVersionNotes } from '../../dev/release/changelog.ts';
import { writeParts } from '../../dev/release/release.ts';
import { requireCommit } from '../../dev/release/source.ts';

/** Makes the folder of a release from the files of this checkout. BuildKit is left out: compiling it takes minutes. */
export async function releaseFolder(folder: string): Promise<void> {
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const { version, license } = JSON.parse(read('package.json')) as {
    version: string;
    license: string;
  };
  const commit = await requireCommit(root, 'HEAD');
  await mkdir(folder, { recursive: true });
  const source = {
    source: root,
    version,
    license,
    commit,
    notes: parseVersionNotes(read('CHANGELOG.md'), version),
  };
  await writeParts(source, { without: ['gx-buildkit'] }, folder);
}
