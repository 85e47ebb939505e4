import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { writeLayer, type Layer } from '../layers/layer.ts';
import {
  isNote,
  isOfPackages,
  buildFileSignature,
  readTree,
  type TreeEntry,
} from '../layers/tree.ts';

/**
 * The layers of installed packages: those of the image, and those that only the build needs. Absent where there are
 * none.
 */
export type PackageLayers = { production?: Layer; development?: Layer };

/** Names of the layers' files, in whichever folder they are. */
export const LAYER_FILES = {
  production: 'production.tar.gz',
  development: 'development.tar.gz',
} as const;

const listPackageEntries = (root: string): TreeEntry[] =>
  readTree(root).filter(({ name }) => isOfPackages(name) && !isNote(name));

/**
 * Writes the layers: all packages of the production tree; of the source those that the other lacks or has differently.
 */
export async function writePackageLayers(
  source: string,
  production: string,
  folder: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const kept = listPackageEntries(production);
  const same = new Map(kept.map((entry) => [entry.name, buildFileSignature(entry)]));
  const others = listPackageEntries(source).filter(
    (entry) => entry.kind !== 'folder' && same.get(entry.name) !== buildFileSignature(entry),
  );
  if (kept.length > 0)
    await writeLayer(path.join(folder, LAYER_FILES.production), production, kept);
  if (others.length > 0)
    await writeLayer(path.join(folder, LAYER_FILES.development), source, others);
}

/** The packages before the build's commands ran: name and signature of each file. */
export type PackageSignatures = ReadonlyMap<string, string>;
export const readPackageSignatures = (root: string): PackageSignatures =>
  new Map(listPackageEntries(root).map((entry) => [entry.name, buildFileSignature(entry)]));

/**
 * Returns the entries of the source's layer: all but packages, and files that commands added to packages, such as a
 * client that was generated there.
 */
export function listSourceEntries(source: string, before: PackageSignatures): TreeEntry[] {
  const entries = readTree(source, (name) => name === '.git');
  const isAdded = (entry: TreeEntry): boolean =>
    entry.kind !== 'folder' &&
    !isNote(entry.name) &&
    before.get(entry.name) !== buildFileSignature(entry);
  return entries.filter((entry) => !isOfPackages(entry.name) || isAdded(entry));
}
