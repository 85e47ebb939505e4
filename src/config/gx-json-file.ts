import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '../errors.ts';
import type { GxJson } from '../schema/agent/gx-json.ts';
import { gxJsonFaults, withoutAbsent } from './gx-json.ts';

/** The name of the same file for other servers. */
const OTHER_NAME = 'langgraph.json';

/** Returns the file that is there: the named one, or beside a gx.json that is not there the langgraph.json. */
export function existingGxFile(file: string): string | undefined {
  const names = path.basename(file) === 'gx.json' ? [file, path.join(path.dirname(file), OTHER_NAME)] : [file];
  return names.find((name) => existsSync(name));
}

/** Returns the file's content. Throws a `StartError` that names the file if it can't be read, or is not JSON. */
export function parsedGxFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`${file} can't be read (${(error as NodeJS.ErrnoException).code}). Set GX_CONFIG or --config.`, { cause: error });
  }
  try {
    return withoutAbsent(JSON.parse(text));
  } catch (error) {
    throw new StartError(`${file} is not valid JSON: ${(error as Error).message}.`, { cause: error });
  }
}

/** Returns the settings. Throws a `StartError` that names the file and the fields that are wrong. */
export function validGxJson(value: unknown, file: string): GxJson {
  const faults = gxJsonFaults(value);
  if (faults.length > 0) throw new StartError(`${file}: ${faults.join('; ')}.`);
  return value as GxJson;
}
