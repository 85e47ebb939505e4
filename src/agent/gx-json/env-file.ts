import { readFileSync } from 'node:fs';
import { readUserCodeEnv } from '../../config/env.ts';
import { readDotEnvOfJavascript, readDotEnvOfPython, toEnvRecord } from '../../schema/dot-env.ts';

/**
 * Reads the variables of a file as the projects' own libraries do. References to other variables reach those of the
 * graphs, and none that only the server knows.
 */
export function readEnvFile(
  file: string,
  { python }: { /** Whether some code of the project is in Python. */ python: boolean },
): Record<string, string> {
  const text = readFileSync(file, 'utf8');
  if (!python) return toEnvRecord(readDotEnvOfJavascript(text));
  const around = readUserCodeEnv();
  return toEnvRecord(readDotEnvOfPython(text, (name) => around[name]));
}
