import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { StartError } from '../../errors.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';

/**
 * Imports a user's file and returns one of its exports. Throws a `StartError`, which begins with `at`, when the file is
 * not there, can't be loaded, or has no such export.
 */
export async function importExport({ file, exportName }: ModuleExport, at: string): Promise<unknown> {
  if (!existsSync(file)) throw new StartError(`${at}: there is no file ${file}.`);
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const { name, message } = error as Error;
    throw new StartError(`${at}: ${file} can't be loaded: ${name}: ${message}`, { cause: error });
  }
  const exported = module[exportName] ?? (module['default'] as Record<string, unknown> | undefined)?.[exportName];
  if (exported !== undefined) return exported;
  const known = Object.keys(module).join(', ') || 'nothing';
  throw new StartError(`${at}: ${file} does not export "${exportName}"; it exports ${known}.`);
}
