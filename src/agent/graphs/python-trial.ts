import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readUserCodeEnv } from '../../config/env.ts';
import { buildModuleVariables, type PythonPlace } from './python.ts';

/**
 * Imports modules of Python in a process of its own, without the settings of a deployment. Returns a sentence for each
 * that no setting can help. Throws if the process gave no answer.
 */
export async function listModuleFaults(
  place: PythonPlace,
  /** Absolute paths, and dotted names of modules. */
  files: string[],
  within: number,
  signal: AbortSignal,
): Promise<string[]> {
  const { program, folder } = place;
  const env = {
    ...readUserCodeEnv(),
    ...buildModuleVariables(place),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const options = { cwd: folder, timeout: within, killSignal: 'SIGKILL', signal, env } as const;
  const { stdout } = await promisify(execFile)(
    program,
    ['-m', 'gx_runner.trial', ...files],
    options,
  );
  return JSON.parse(stdout) as string[];
}
