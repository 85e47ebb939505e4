import path from 'node:path';
import type { SettingsReader } from '../env.ts';

/** `blockingMilliseconds`: the log tells of code that holds the event loop for longer. */
export type DevelopmentOfPython = {
  blockingMilliseconds?: number;
  /** Where a debugger may attach. */ debugPort?: number;
};

/** Settings of the processes that run graphs in Python. */
export type PythonSettings = ReturnType<typeof readPythonSettings> & {
  /** Watches and ports for a developer; undefined in a deployment. */
  development?: DevelopmentOfPython | undefined;
};

export const readPythonSettings = (read: SettingsReader) => ({
  /** The interpreter that was asked for: a path, or the name of a command. */
  interpreter: read.readOptional(['GX_PYTHON']),
  /** The setting that asks for one, for sentences. */
  namedBy: 'GX_PYTHON',
  /** The virtual environment that the server was started in. */
  virtualEnv: read.readOptional(['VIRTUAL_ENV']),
  /** The folder of the environment of a project of uv, where that is not its `.venv`. */
  uvEnvironment: read.readOptional(['UV_PROJECT_ENVIRONMENT']),
  /** The interpreter that the command `gx` was installed for, if it came by one of Python's packages. */
  ofGx: read.readOptional(['GX_PYTHON_OF_GX']),
  /** The folders of commands. */
  commands: read.readText(['PATH'], '').split(path.delimiter).filter(Boolean),
  /** The user's own folders of modules, as Python reads them. */
  modulePath: read.readOptional(['PYTHONPATH']),
  /** How many processes there are, at most. */
  processes: read.readInteger(['GX_PYTHON_PROCESSES'], 1, { min: 1, max: 64 }),
  /** Whether each run has an event loop and a thread of its own there. */
  isolatedLoops: read.readFlag(['GX_JOB_ISOLATED_LOOPS', 'BG_JOB_ISOLATED_LOOPS'], false),
  /** Megabytes that each may take; 0 for a share of the pod's. */
  megabytes: read.readInteger(['GX_PYTHON_MEMORY_MB'], 0, { min: 0, max: 1_048_576 }),
});
