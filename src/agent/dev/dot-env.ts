import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { StartError } from '../../errors.ts';
import { readGraphsFile } from '../gx-json/read.ts';

/**
 * Returns the variables of the `.env` beside gx.json, unless gx.json itself says something of the environment.
 * Deployments get their secrets in another way, so gx.json need not name a file that only developers have.
 */
export function dotEnvOf(config: string): Record<string, string> {
  const { folder, settings } = readGraphsFile(config);
  const file = path.join(folder, '.env');
  if (settings.env !== undefined || !existsSync(file)) return {};
  try {
    return parseEnv(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    throw new StartError(`${file} can't be read: ${(error as Error).message}.`, { cause: error });
  }
}
