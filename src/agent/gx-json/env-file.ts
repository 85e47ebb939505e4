import { readFileSync } from 'node:fs';
import { environmentOfOthers } from '../../config/env.ts';
import { readDotEnvOfJavascript, readDotEnvOfPython, valuesOf } from '../../schema/dot-env.ts';

/**
 * Reads the variables of a file as the projects' own libraries do. References to other variables reach those of the
 * graphs, and none that only the server knows.
 */
export function readEnvFile(
  file: string,
  { python }: { /** Whether some code of the project is in Python. */ python: boolean },
): Record<string, string> {
  const text = readFileSync(file, 'utf8');
  if (!python) return valuesOf(readDotEnvOfJavascript(text));
  const around = environmentOfOthers();
  return valuesOf(readDotEnvOfPython(text, (name) => around[name]));
}
