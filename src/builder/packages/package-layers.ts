import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { writeLayer, type Layer } from '../layers/layer.ts';
import { isNote, isOfPackages, signatureOf, treeOf, type TreeEntry } from '../layers/tree.ts';

/**
 * The layers of installed packages: those of the image, and those that only the build needs. Absent where there are
 * none.
 */
export type PackageLayers = { production?: Layer; development?: Layer };

/** Names of the layers' files, in whichever folder they are. */
export const LAYER_FILES = { production: 'production.tar.gz', development: 'development.tar.gz' } as const;

const packagesOf = (root: string): TreeEntry[] => treeOf(root).filter(({ name }) => isOfPackages(name) && !isNote(name));

/**
 * Writes the layers: all packages of the production tree; of the source those that the other lacks or has differently.
 */
export async function writePackageLayers(source: string, production: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const kept = packagesOf(production);
  const same = new Map(kept.map((entry) => [entry.name, signatureOf(entry)]));
  const others = packagesOf(source).filter((entry) => entry.kind !== 'folder' && same.get(entry.name) !== signatureOf(entry));
  if (kept.length > 0) await writeLayer(path.join(folder, LAYER_FILES.production), production, kept);
  if (others.length > 0) await writeLayer(path.join(folder, LAYER_FILES.development), source, others);
}

/** The packages before the build's commands ran: name and signature of each file. */
export type PackageSignatures = ReadonlyMap<string, string>;
export const packageSignatures = (root: string): PackageSignatures =>
  new Map(packagesOf(root).map((entry) => [entry.name, signatureOf(entry)]));

/**
 * Returns the entries of the source's layer: all but packages, and files that commands added to packages, such as a
 * client that was generated there.
 */
export function sourceEntries(source: string, before: PackageSignatures): TreeEntry[] {
  const entries = treeOf(source, (name) => name === '.git');
  const added = (entry: TreeEntry): boolean =>
    entry.kind !== 'folder' && !isNote(entry.name) && before.get(entry.name) !== signatureOf(entry);
  return entries.filter((entry) => !isOfPackages(entry.name) || added(entry));
}
