import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '../../errors.ts';
import { parseBareName } from '../../schema/agent/code-place.ts';
import type { GxJson, PassedOver } from '../../schema/agent/gx-json.ts';
import { stripNulls } from '../../schema/json.ts';
import { dropUnknownKeys, checkGxJson } from './gx-json.ts';

/** The name of the same file for other servers. */
const OTHER_NAME = 'langgraph.json';

/** Files of our own by their names: gx.json, also as gx.test.json or my.gx.json. Others follow other tools. */
const OUR_OWN = /(^|\.)gx(\..+)?\.json$/;
export const isOwnFile = (file: string): boolean => OUR_OWN.test(path.basename(file));

/** Returns the file that is there: the named one, or beside a gx.json that is not there the langgraph.json. */
export function findGxFile(file: string): string | undefined {
  const names =
    path.basename(file) === 'gx.json' ? [file, path.join(path.dirname(file), OTHER_NAME)] : [file];
  return names.find((name) => existsSync(name));
}

/** Returns the file's content. Throws a `StartError` that names the file if it can't be read, or is not JSON. */
export function readGxContent(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(explainUnreadableFile(file, (error as NodeJS.ErrnoException).code), {
      cause: error,
    });
  }
  try {
    // Other tools write null for absent values.
    return stripNulls(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch (error) {
    throw new StartError(`${file} is not valid JSON: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

const ANOTHER = 'name another file with --config or GX_CONFIG';

function explainUnreadableFile(file: string, code: string | undefined): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return path.basename(file) === 'gx.json'
        ? `There is no gx.json or langgraph.json in ${path.dirname(file)}. Run "gx new" to write an agent, or name the file with --config or GX_CONFIG.`
        : `There is no file ${file}: ${ANOTHER}.`;
    case 'EISDIR':
      return `${file} is a folder: ${ANOTHER}.`;
    default:
      return `${file} can't be read: this user may not open it. Change its permissions, or ${ANOTHER}.`;
  }
}

/** The settings of a file, and the keys in it that nothing knows. */
export type GxFile = { settings: GxJson; unknown: PassedOver[] };

/**
 * Returns the settings. In files of other tools, keys that nothing knows are only named; in gx.json they are faults.
 * Throws a `StartError` that names the file and the fields that are wrong.
 */
export function readGxJson(value: unknown, file: string): GxFile {
  const { settings: known, passedOver } = isOwnFile(file)
    ? { settings: value, passedOver: [] }
    : dropUnknownKeys(value);
  const faults = checkGxJson(known);
  if (faults.length > 0) throw new StartError(`${file}: ${faults.join('; ')}.`);
  return { settings: resolveBareNames(known as GxJson, path.dirname(file)), unknown: passedOver };
}

/** Returns the settings in which a name without a dot is a module of Python: `./` stands before names of JavaScript. */
function resolveBareNames(settings: GxJson, folder: string): GxJson {
  const { graphs, auth, http, encryption, dependencies = [] } = settings;
  const folders = [folder, ...dependencies.map((name) => path.resolve(folder, name))];
  const resolveReference = (reference: string): string => {
    const name = parseBareName(reference);
    const script = name && findScript(name, folders);
    return name === undefined || script === undefined
      ? reference
      : `./${script}${reference.slice(name.length)}`;
  };
  return {
    ...settings,
    graphs: Object.fromEntries(
      Object.entries(graphs).map(([id, graph]) => [
        id,
        typeof graph === 'string'
          ? resolveReference(graph)
          : { ...graph, path: resolveReference(graph.path) },
      ]),
    ),
    ...(auth && { auth: { ...auth, path: resolveReference(auth.path) } }),
    ...(http?.app !== undefined && { http: { ...http, app: resolveReference(http.app) } }),
    ...(encryption && { encryption: { ...encryption, path: resolveReference(encryption.path) } }),
  };
}

const ENDINGS = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx'];
/** Files beside which a name that is no file is a module of Python, which may be installed. */
const OF_PYTHON = ['pyproject.toml', 'requirements.txt', 'setup.py', 'uv.lock', '.venv'];

/** Returns the file of JavaScript in the first folder that a bare name means; undefined for a module of Python. */
function findScript(name: string, folders: string[]): string | undefined {
  const [folder = ''] = folders;
  const has = (file: string): boolean => existsSync(path.join(folder, file));
  if (
    folders.some(
      (at) => isFile(path.join(at, `${name}.py`)) || isFile(path.join(at, name, '__init__.py')),
    )
  )
    return undefined;
  const script = ENDINGS.flatMap((ending) => [
    `${name}${ending}`,
    path.join(name, `index${ending}`),
  ]).find(has);
  return script ?? (has('package.json') && !OF_PYTHON.some(has) ? name : undefined);
}

const isFile = (file: string): boolean =>
  statSync(file, { throwIfNoEntry: false })?.isFile() === true;
