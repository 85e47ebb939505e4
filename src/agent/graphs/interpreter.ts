import path from 'node:path';
import type { PythonSettings } from '../../config/python.ts';

/* This file decides which Python runs graphs. */

type Choice = { settings: PythonSettings; /** The folder of gx.json. */ folder: string; exists: (file: string) => boolean };

/** The interpreter, or a sentence that says which command makes one. */
export type Interpreter = { program: string } | { fault: string };

const VENV = 'python3 -m venv .venv && .venv/bin/pip install langgraph';

/**
 * Returns the interpreter that GX_PYTHON names; else that of the active virtual environment, of the nearest `.venv`
 * from the folder upwards, or `python3`.
 */
export function interpreterFor(choice: Choice): Interpreter {
  const { interpreter, virtualEnv } = choice.settings;
  if (interpreter !== undefined) {
    const program = interpreter.includes(path.sep) ? existing(path.resolve(interpreter), choice) : commandNamed(interpreter, choice);
    return program === undefined
      ? { fault: `GX_PYTHON names ${interpreter}, which is not there: name an interpreter that has LangGraph, or make one: ${VENV}` }
      : { program };
  }
  const environments = [
    ...(virtualEnv === undefined ? [] : [virtualEnv]),
    ...foldersFrom(choice.folder).map((at) => path.join(at, '.venv')),
  ];
  const candidates = environments.map((environment) => path.join(environment, 'bin', 'python'));
  const program = candidates.find((file) => choice.exists(file)) ?? commandNamed('python3', choice);
  return program === undefined
    ? {
        fault: `Graphs in Python need Python 3.11 or newer, and there is no python3: install it, then run ${VENV}, or name it by GX_PYTHON`,
      }
    : { program };
}

const existing = (file: string, { exists }: Choice): string | undefined => (exists(file) ? file : undefined);

const commandNamed = (name: string, { settings, exists }: Choice): string | undefined =>
  settings.commands.map((folder) => path.join(folder, name)).find((file) => exists(file));

/** Returns the folder and all above it. */
function foldersFrom(folder: string): string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersFrom(above)];
}
