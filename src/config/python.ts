import path from 'node:path';
import type { SettingsReader } from './env.ts';

/** `blockingMilliseconds`: the log tells of code that holds the event loop for longer. */
export type DevelopmentOfPython = { blockingMilliseconds?: number; /** Where a debugger may attach. */ debugPort?: number };

/** Settings of the processes that run graphs in Python. */
export type PythonSettings = {
  /** The interpreter that was asked for: a path, or the name of a command. */
  interpreter: string | undefined;
  /** The setting that asks for one, for sentences. */
  namedBy: string;
  /** The virtual environment that the server was started in. */
  virtualEnv: string | undefined;
  /** The folder of the environment of a project of uv, where that is not its `.venv`. */
  uvEnvironment: string | undefined;
  /** The interpreter that the command `gx` was installed for, if it came by one of Python's packages. */
  ofGx: string | undefined;
  /** The folders of commands. */
  commands: string[];
  /** The user's own folders of modules, as Python reads them. */
  modulePath: string | undefined;
  /** How many processes there are, at most. */
  processes: number;
  /** Whether each run has an event loop and a thread of its own there. */
  isolatedLoops: boolean;
  /** Megabytes that each may take; 0 for a share of the pod's. */
  megabytes: number;
  /** Watches and ports for a developer; undefined in a deployment. */
  development: DevelopmentOfPython | undefined;
};

export const pythonSettings = (read: SettingsReader): PythonSettings => ({
  interpreter: read.optional(['GX_PYTHON']),
  namedBy: 'GX_PYTHON',
  virtualEnv: read.optional(['VIRTUAL_ENV']),
  uvEnvironment: read.optional(['UV_PROJECT_ENVIRONMENT']),
  ofGx: read.optional(['GX_PYTHON_OF_GX']),
  commands: read.text(['PATH'], '').split(path.delimiter).filter(Boolean),
  modulePath: read.optional(['PYTHONPATH']),
  processes: read.integer(['GX_PYTHON_PROCESSES'], 1, { min: 1, max: 64 }),
  isolatedLoops: read.flag(['GX_JOB_ISOLATED_LOOPS', 'BG_JOB_ISOLATED_LOOPS'], false),
  megabytes: read.integer(['GX_PYTHON_MEMORY_MB'], 0, { min: 0, max: 1_048_576 }),
  development: undefined,
});
