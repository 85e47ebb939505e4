import path from 'node:path';
import type { PythonSettings } from '../../config/agent/python.ts';
import { isPythonProject, parseLockMembers } from '../../schema/uv-lock.ts';

/* This file decides which Python runs graphs. */

type Choice = {
  settings: PythonSettings;
  /** The folder of gx.json. */
  folder: string;
  exists: (file: string) => boolean;
  /** Returns the text of a file; undefined where it is not there. */
  textOf: (file: string) => string | undefined;
};

/** The program that installs a package there. `uv-sync`: the project names its packages, and none is installed. */
export type Installer = 'pip' | 'uv-pip' | 'uv-add' | 'uv-sync';

/** An interpreter, why it is this one, and how it gets packages. */
export type ChosenPython = { program: string; because: string; installer: Installer };

/** The interpreter, or a sentence that says which command makes one. */
export type Interpreter = ChosenPython | { fault: string };

const VENV = 'python3 -m venv .venv && .venv/bin/pip install langgraph';

type Environment = { at: string; because: string; uvProject?: true };

/**
 * Returns the interpreter that was asked for; else that of the `.venv` beside gx.json, of the active virtual
 * environment, of the project of uv that the folder belongs to, of the nearest `.venv` above, the one that `gx` was
 * installed for, or `python3`.
 */
export function chooseInterpreter(choice: Choice): Interpreter {
  if (choice.settings.interpreter !== undefined)
    return findNamedInterpreter(choice.settings.interpreter, choice);
  const project = findUvProject(choice);
  const found = listEnvironments(choice, project).find(({ at }) =>
    choice.exists(buildPythonPath(at)),
  );
  if (found !== undefined)
    return {
      program: buildPythonPath(found.at),
      because: found.because,
      installer: chooseInstaller(found, { ...choice, project }),
    };
  const other = findOutsidePython(choice);
  if (other !== undefined)
    return { ...other, installer: project === undefined ? 'pip' : 'uv-sync' };
  const makes =
    project === undefined ? `install it, then run ${VENV}` : `run uv sync in ${project}`;
  return {
    fault: `Graphs in Python need Python 3.11 or newer, and there is no python3: ${makes}, or name it by ${choice.settings.namedBy}`,
  };
}

/** Returns the command that installs a package, by its requirement. */
export function installCommand(
  { program, installer }: { program: string; installer: Installer },
  requirement: string,
): string {
  const quoted = /^[\w-]+$/.test(requirement) ? requirement : `'${requirement}'`;
  switch (installer) {
    case 'pip':
      return `${program} -m pip install ${quoted}`;
    case 'uv-pip':
      return `uv pip install --python ${program} ${quoted}`;
    case 'uv-add':
      return `uv add ${quoted}`;
    case 'uv-sync':
      return 'uv sync';
  }
}

/** Returns the interpreter by its path, the folder of its environment, or its name. */
function findNamedInterpreter(name: string, choice: Choice): Interpreter {
  const { namedBy } = choice.settings;
  const file = path.resolve(name);
  const commands = choice.settings.commands.map((folder) => path.join(folder, name));
  const places = [buildPythonPath(file), ...(name.includes(path.sep) ? [file] : commands)];
  const program = places.find((place) => choice.exists(place));
  if (program === undefined)
    return {
      fault: `${namedBy} names ${name}, which is not there: name an interpreter that has LangGraph, or make one: ${VENV}`,
    };
  const environment = path.dirname(path.dirname(program));
  return {
    program,
    because: `${namedBy} names it`,
    installer: chooseInstaller({ at: environment, because: '' }, choice),
  };
}

const buildPythonPath = (environment: string): string => path.join(environment, 'bin', 'python');

/**
 * Returns the folder of the project of uv, which has its lock file: that of the nearest package around, or of the
 * workspace that this is a member of.
 */
function findUvProject({ folder, exists, textOf }: Choice): string | undefined {
  const isPackage = (at: string): boolean =>
    exists(path.join(at, 'uv.lock')) || isPythonProject(textOf(path.join(at, 'pyproject.toml')));
  const own = listFoldersUp(folder).find(isPackage);
  if (own === undefined) return undefined;
  return listFoldersUp(own).find((place) => {
    const lock = textOf(path.join(place, 'uv.lock'));
    return (
      lock !== undefined &&
      (place === own || parseLockMembers(lock).some((member) => path.join(place, member) === own))
    );
  });
}

function listEnvironments(
  { settings, folder }: Choice,
  project: string | undefined,
): Environment[] {
  const [, ...above] = listFoldersUp(folder);
  const ofProject = project && path.resolve(project, settings.uvEnvironment ?? '.venv');
  return [
    {
      at: path.join(folder, '.venv'),
      because: 'the .venv beside gx.json',
      ...(project === folder && { uvProject: true as const }),
    },
    ...(settings.virtualEnv === undefined
      ? []
      : [{ at: settings.virtualEnv, because: 'the active environment (VIRTUAL_ENV)' }]),
    ...(ofProject === undefined
      ? []
      : [
          {
            at: ofProject,
            because: `the environment of the uv project in ${project}`,
            uvProject: true as const,
          },
        ]),
    ...above.map((at) => ({ at: path.join(at, '.venv'), because: `the .venv in ${at}` })),
  ];
}

/** Returns who installs packages into an environment. Those that uv makes have no pip. */
function chooseInstaller(
  { at, uvProject: isOfProject }: Environment,
  { exists }: Choice & { project?: string | undefined },
): Installer {
  if (isOfProject) return 'uv-add';
  const isEnvironment = exists(path.join(at, 'pyvenv.cfg'));
  return isEnvironment && !exists(path.join(at, 'bin', 'pip')) ? 'uv-pip' : 'pip';
}

function findOutsidePython({
  settings,
  exists,
}: Choice): { program: string; because: string } | undefined {
  if (settings.ofGx !== undefined && exists(settings.ofGx))
    return { program: settings.ofGx, because: 'gx is installed there' };
  const program = settings.commands
    .map((folder) => path.join(folder, 'python3'))
    .find((file) => exists(file));
  return program === undefined ? undefined : { program, because: 'the first python3 on the PATH' };
}

function listFoldersUp(folder: string): string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [folder, ...listFoldersUp(above)];
}
