import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentOfOthers } from '../../config/env.ts';
import type { RunnerCommand } from '../../schema/wire/wall/graph-start.ts';

/** The folder with our own modules of Python. It lies beside `src`, and in the package beside the compiled code. */
const MODULES = fileURLToPath(new URL('../../../python', import.meta.url));

export type PythonPlace = { program: string; /** The folder of gx.json. */ folder: string; modulePath: string | undefined };
type Limits = { megabytes: number | undefined };
/** Whether the runner runs graphs, or the user's own code beside them. */
type Role = { role?: 'graphs' | 'user-code' };

/** Returns the variable by which Python finds our own modules, and those of the user's own path. */
export const ownModules = ({ modulePath }: Pick<PythonPlace, 'modulePath'>): { PYTHONPATH: string } => ({
  PYTHONPATH: [MODULES, ...(modulePath === undefined ? [] : [modulePath])].join(path.delimiter),
});

/** Returns how Python is run. Modules of the user are found in the folder of gx.json and by the user's own path. */
export const pythonRunner = ({ program, folder, modulePath, megabytes, role = 'graphs' }: PythonPlace & Limits & Role): RunnerCommand => ({
  command: [program, '-m', 'gx_runner', ...(role === 'graphs' ? [] : [role])],
  folder,
  variables: ownModules({ modulePath }),
  megabytes,
});

const OLD = 3;
const LACKS = 4;
/** A package of LangGraph that only extends it makes a module of the name, too, so the question is for a part of it. */
const PROBE = `import sys
from importlib.util import find_spec
if sys.version_info < (3, 11): sys.exit(${OLD})
sys.exit(0 if find_spec("langgraph") and find_spec("langgraph.graph") else ${LACKS})`;
/** Milliseconds. */
const PROBE_WITHIN = 10_000;

/**
 * Returns why the interpreter can run no graph, in a sentence with the command that mends it; undefined when it has
 * LangGraph. It is asked once a runner did not start.
 */
export async function interpreterFault({ program, folder }: Pick<PythonPlace, 'program' | 'folder'>): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const options = { cwd: folder, timeout: PROBE_WITHIN, killSignal: 'SIGKILL', env: environmentOfOthers() } as const;
  execFile(program, ['-c', PROBE], options, (error) => resolve(error?.code));
  switch (await promise) {
    case OLD:
      return `Graphs in Python need Python 3.11 or newer, and ${program} is older: name another one by GX_PYTHON`;
    case LACKS:
      return `Graphs in Python need LangGraph, which ${program} does not have: run ${program} -m pip install langgraph`;
    case 'ENOENT':
    case 'EACCES':
      return `Graphs in Python need an interpreter, and ${program} can't be run: name another one by GX_PYTHON`;
    default:
      return undefined;
  }
}
