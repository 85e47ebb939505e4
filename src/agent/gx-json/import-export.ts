import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { StartError } from '../../errors.ts';
import { describeThrown, findFailurePlace } from '../kernel/failure-place.ts';
import { buildInstallCommand } from '../kernel/package-manager.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';

/**
 * Imports a user's file and returns one of its exports. Throws a `StartError`, which begins with `at`, when the file is
 * not there, can't be loaded, or has no such export.
 */
export async function importExport(
  { file, exportName }: ModuleExport,
  at: string,
): Promise<unknown> {
  if (!existsSync(file)) throw new StartError(`${at}: there is no file ${file}.`);
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const missing = findMissingPackage(error);
    if (missing !== undefined)
      throw new StartError(
        `${at}: ${missing.importer ?? file} imports "${missing.name}", which is not installed: run ${buildInstallCommand(file, missing.name)}.`,
      );
    const { at: place } = findFailurePlace(error);
    const failure = describeThrown(error);
    throw new StartError(
      `${at}: ${place ?? `${file} can't be loaded`}: ${failure.error}: ${failure.message}`,
      { cause: error },
    );
  }
  const exported =
    module[exportName] ?? (module['default'] as Record<string, unknown> | undefined)?.[exportName];
  if (exported !== undefined) return exported;
  const known = Object.keys(module).join(', ') || 'nothing';
  throw new StartError(`${at}: ${file} does not export "${exportName}"; it exports ${known}.`);
}

/** Returns the package that an import did not find, and the file that asks for it; undefined for other faults. */
function findMissingPackage(
  error: unknown,
): { name: string; importer: string | undefined } | undefined {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined;
  const [, name, importer] =
    /Cannot find (?:package|module) '((?:@[^/'.]+\/)?[^/'.@][^/']*)[^']*'(?: imported from (\S+))?/.exec(
      String(message),
    ) ?? [];
  // A package within a package that is there is not the user's to add.
  return name === undefined || importer?.includes('/node_modules/') === true
    ? undefined
    : { name, importer };
}
