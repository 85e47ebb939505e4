import path from 'node:path';
import type { SettingsReader } from './env.ts';

/** Settings of the processes that run graphs in Python. */
export type PythonSettings = {
  /** The interpreter that was asked for: a path, or the name of a command. */
  interpreter: string | undefined;
  /** The virtual environment that the server was started in. */
  virtualEnv: string | undefined;
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
};

export const pythonSettings = (read: SettingsReader): PythonSettings => ({
  interpreter: read.optional(['GX_PYTHON']),
  virtualEnv: read.optional(['VIRTUAL_ENV']),
  commands: read.text(['PATH'], '').split(path.delimiter).filter(Boolean),
  modulePath: read.optional(['PYTHONPATH']),
  processes: read.integer(['GX_PYTHON_PROCESSES'], 1, { min: 1, max: 64 }),
  isolatedLoops: read.flag(['GX_JOB_ISOLATED_LOOPS', 'BG_JOB_ISOLATED_LOOPS'], false),
  megabytes: read.integer(['GX_PYTHON_MEMORY_MB'], 0, { min: 0, max: 1_048_576 }),
});
