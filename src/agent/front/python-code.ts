import { existsSync } from 'node:fs';
import type { PythonSettings } from '../../config/python.ts';
import { StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { interpreterFor } from '../graphs/interpreter.ts';
import { interpreterFault, pythonRunner } from '../graphs/python.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import { codeProcess } from '../user-code/process.ts';
import type { OpenCodeRunner } from '../user-code/worker.ts';

type Options = { settings: PythonSettings; file: Pick<GraphsFile, 'env' | 'folder'>; log: Log };

/** Returns a function that opens the user's own code in Python. Throws a `StartError` where there is no interpreter. */
export function openPythonCode({ settings, file: { env, folder }, log }: Options): OpenCodeRunner {
  const chosen = interpreterFor({ settings, folder, exists: existsSync });
  if ('fault' in chosen) throw new StartError(chosen.fault);
  const { program } = chosen;
  const modulePath = settings.modulePath ?? env['PYTHONPATH'];
  const runner = pythonRunner({ program, folder, modulePath, megabytes: undefined, role: 'user-code' });
  return codeProcess({ runner, faultOf: () => interpreterFault({ chosen, folder, namedBy: settings.namedBy }), log });
}
