import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readUserCodeEnv } from '../../config/env.ts';
import type { PythonSettings } from '../../config/agent/python.ts';
import {
  installCommand,
  chooseInterpreter,
  type ChosenPython,
  type Interpreter,
} from './interpreter.ts';
import type { RunnerCommand } from '../../schema/wire/wall/graph-start.ts';

/** The folder with our own modules of Python. It lies beside `src`, and in the package beside the compiled code. */
const MODULES = fileURLToPath(new URL('../../../python', import.meta.url));

export type PythonPlace = {
  program: string;
  /** The folder of gx.json. */
  folder: string;
  modulePath: string | undefined;
  /** Folders of modules behind all others. */
  importFolders: readonly string[];
};

/** Returns the interpreter of graphs in Python, as the settings and the files of this machine say. */
export const choosePython = (settings: PythonSettings, folder: string): Interpreter =>
  chooseInterpreter({
    settings,
    folder,
    exists: existsSync,
    textOf: (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined),
  });

/** Returns where the interpreter finds modules for the graphs of a file. */
export const buildPythonPlace = (
  program: string,
  settings: PythonSettings,
  {
    folder,
    importFolders,
    env,
  }: { env: Readonly<Record<string, string>>; folder: string; importFolders: readonly string[] },
): PythonPlace => ({
  program,
  folder,
  importFolders,
  modulePath: settings.modulePath ?? env['PYTHONPATH'],
});

/**
 * Returns the variables by which Python finds our own modules, those of the user's own path, and behind all others
 * those of `dependencies`, which must hide no module of Python or of a package.
 */
export const buildModuleVariables = ({
  modulePath,
  importFolders,
}: PythonPlace): Record<string, string> => ({
  PYTHONPATH: [MODULES, ...(modulePath === undefined ? [] : [modulePath])].join(path.delimiter),
  ...(importFolders.length > 0 && { GX_IMPORT_FOLDERS: importFolders.join(path.delimiter) }),
});

/** Returns how Python is run. Modules of the user are found in the folder of gx.json and by the user's own path. */
export const buildPythonRunner = (
  place: PythonPlace,
  {
    megabytes,
    role = 'graphs',
  }: {
    megabytes: number | undefined;
    /** Whether the runner runs graphs, or the user's own code beside them. */
    role?: 'graphs' | 'user-code';
  },
): RunnerCommand => ({
  command: [place.program, '-m', 'gx_runner', ...(role === 'graphs' ? [] : [role])],
  folder: place.folder,
  variables: buildModuleVariables(place),
  megabytes,
});

const OLD = 3;
const LACKS = 4;
const OLD_LANGGRAPH = 5;
/** The oldest series of LangGraph that the runner serves. It says the same by itself (python/gx_runner/oldest.py). */
export const LOWEST_LANGGRAPH = '0.4';
/** A package of LangGraph that only extends it makes a module of the name, too, so the question is for a part of it. */
const PROBE = `import sys
from importlib.metadata import version
from importlib.util import find_spec
if sys.version_info < (3, 11): sys.exit(${OLD})
if not (find_spec("langgraph") and find_spec("langgraph.graph")): sys.exit(${LACKS})
print(version("langgraph"))
if [int(part) for part in version("langgraph").split(".")[:2]] < [${LOWEST_LANGGRAPH.replace('.', ', ')}]: sys.exit(${OLD_LANGGRAPH})`;
/** Milliseconds. */
const PROBE_WITHIN = 10_000;

/**
 * Returns why the interpreter can run no graph, in a sentence with the command that mends it; undefined when it has
 * LangGraph. It is asked once a runner did not start.
 */
export async function checkInterpreter(
  chosen: ChosenPython,
  /** The folder of gx.json. */
  folder: string,
  namedBy: string,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; printed: string }>();
  const options = {
    cwd: folder,
    timeout: PROBE_WITHIN,
    killSignal: 'SIGKILL',
    env: readUserCodeEnv(),
  } as const;
  const { program, because } = chosen;
  execFile(program, ['-c', PROBE], options, (error, printed) =>
    resolve({ code: error?.code, printed: printed.trim() }),
  );
  const { code, printed } = await promise;
  const shown = `${program} (${because})`;
  switch (code) {
    case OLD:
      return `Graphs in Python need Python 3.11 or newer, and ${shown} is older: name another one by ${namedBy}`;
    case LACKS:
      return `Graphs in Python need LangGraph, which ${shown} does not have: run ${installCommand(chosen, 'langgraph')}`;
    case OLD_LANGGRAPH:
      return `Graphs in Python need LangGraph ${LOWEST_LANGGRAPH} or newer, and ${shown} has ${printed}: run ${installCommand(chosen, `langgraph>=${LOWEST_LANGGRAPH}`)}`;
    case 'ENOENT':
    case 'EACCES':
      return `Graphs in Python need an interpreter, and ${shown} can't be run: name another one by ${namedBy}`;
    default:
      return undefined;
  }
}

/** Returns the version of an interpreter, such as 3.12, where its place tells it without a process. */
export function readPythonVersion(program: string): string | undefined {
  const notes = path.join(path.dirname(path.dirname(program)), 'pyvenv.cfg');
  if (existsSync(notes))
    return /^version(?:_info)?\s*=\s*(\d+\.\d+)/m.exec(readFileSync(notes, 'utf8'))?.[1];
  return existsSync(program) ? /(\d+\.\d+)$/.exec(realpathSync(program))?.[1] : undefined;
}
