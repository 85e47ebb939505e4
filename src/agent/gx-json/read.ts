import { existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import {
  findGxFile,
  isOwnFile,
  readGxContent,
  readGxJson,
} from '../../config/agent/gx-json-file.ts';
import type { FileSection } from '../../config/agent/gx-json.ts';
import { LANGSMITH_PROJECTS } from '../../config/tracing.ts';
import { StartError } from '../../errors.ts';
import {
  parseCodePlace,
  isEmbedCode,
  decideLanguage,
  type Language,
} from '../../schema/agent/code-place.ts';
import {
  listIgnoredKeys,
  getDottedValue,
  type GxJson,
  type PassedOver,
} from '../../schema/agent/gx-json.ts';
import { findEnvExample } from './env-example.ts';
import { readEnvFile } from './env-file.ts';
import { importFolders } from './import-folders.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';
import type { GraphSource, StoreIndex } from '../../schema/wire/wall/graph-start.ts';

export type GraphsFile = {
  path: string;
  folder: string;
  settings: GxJson;
  graphs: GraphSource[];
  /** Whether a graph, or the code beside the graphs, is in Python. */
  hasPython: boolean;
  /** Folders of modules of Python, behind all others on their path. */
  importFolders: string[];
  env: Record<string, string>;
  index: StoreIndex | undefined;
  /** The handlers that decide who may call; undefined when everybody may. */
  auth: ModuleExport | undefined;
  /** The language of `auth.path`, `http.app` and `encryption.path`. */
  codeLanguage: Language;
  encryption: ModuleExport | undefined;
  /** Keys and variables without an effect here. */
  passedOver: PassedOver[];
  app: ModuleExport | undefined;
};

/**
 * Reads gx.json, or the langgraph.json in its place. `sections` count where the file has none of that name, and make up
 * for a file that is not there, as in images that other tools build. `langsmithProject` is lent to the environment of
 * graphs that name none. Throws a `StartError` that names the file and the field for whatever is wrong.
 */
export function readGraphsFile(
  configPath: string,
  sections: FileSection[] = [],
  langsmithProject?: string,
): GraphsFile {
  const file = findGxFile(path.resolve(configPath));
  const own =
    file === undefined && sections.some(({ key }) => key === 'graphs')
      ? {}
      : readGxContent(file ?? path.resolve(configPath));
  // The builder of such an image makes the folder of the code its working directory.
  const named = file ?? path.join(process.cwd(), 'gx.json');
  const { settings, unknown } = readGxJson(mergeSections(own, sections), named);
  const codeLanguage = requireOneLanguage(settings, named);
  const folder = path.dirname(named);
  const graphs = Object.entries(settings.graphs).map(([graphId, ref]) =>
    parseGraphSource(graphId, ref, folder),
  );
  refuseAnyClass(settings, graphs, named);
  const python = graphs.some(({ language }) => language === 'python');
  const hasPython = python || codeLanguage === 'python';
  const { env, absent } = readEnvironment(settings, named, hasPython);
  return {
    path: named,
    folder,
    settings,
    graphs,
    hasPython,
    importFolders: importFolders(settings.dependencies ?? [], folder),
    env: addProject(env, langsmithProject),
    index: storeIndex(settings, folder, graphs),
    auth: parseModuleExport(settings.auth?.path, folder),
    app: parseModuleExport(settings.http?.app, folder),
    codeLanguage,
    encryption: parseModuleExport(settings.encryption?.path, folder),
    passedOver: [
      ...unknown,
      ...listIgnoredKeys(settings, { python, node: process.versions.node }),
      ...(absent === undefined ? [] : [{ name: 'env', instead: absent }]),
      ...sections.flatMap(({ passedOver }) => passedOver),
      ...listUnusedSections(own, sections),
    ],
  };
}

/** The keys whose code runs beside the graphs. */
const PARTS = ['auth.path', 'http.app', 'encryption.path'];

/** Returns the language of the parts. Throws a `StartError` where they are in two. */
function requireOneLanguage(settings: unknown, file: string): Language {
  const parts = PARTS.flatMap((key) => {
    const reference = getDottedValue(settings, key);
    return typeof reference === 'string' ? [{ key, language: decideLanguage(reference) }] : [];
  });
  const first = parts.find(({ language }) => language === 'python');
  const other = parts.find(({ language }) => language === 'javascript');
  if (first === undefined) return 'javascript';
  if (other === undefined) return 'python';
  throw new StartError(
    `${file}: "${first.key}" is in Python and "${other.key}" in JavaScript: both run in one process, so write both in one language.`,
  );
}

/** Throws a `StartError` where graphs in JavaScript would make any class from stored values. */
function refuseAnyClass({ checkpointer }: GxJson, graphs: GraphSource[], file: string): void {
  const javascript = graphs.find(({ language }) => language === 'javascript');
  if (javascript !== undefined && checkpointer?.serde?.allowed_json_modules === true)
    throw new StartError(
      `${file}: "checkpointer.serde.allowed_json_modules" is true, which only graphs in Python can have; name the classes for "${javascript.graphId}".`,
    );
}

function mergeSections(own: unknown, sections: FileSection[]): unknown {
  const lent: Record<string, unknown> = {};
  for (const { key, value } of sections)
    lent[key] = { ...(lent[key] as object | undefined), ...(value as object) };
  return typeof own === 'object' && own !== null && !Array.isArray(own) ? { ...lent, ...own } : own;
}

const listUnusedSections = (own: unknown, sections: FileSection[]): PassedOver[] =>
  sections
    .filter(({ key }) => Object.hasOwn(own as object, key))
    .map(({ variable, key }) => ({
      name: variable,
      instead: `the file has "${key}" itself; change it there`,
    }));

function parseGraphSource(
  graphId: string,
  ref: string | { path: string; description?: string },
  folder: string,
): GraphSource {
  const { path: target, description = null } = typeof ref === 'string' ? { path: ref } : ref;
  const { language, place, isModule, name } = parseCodePlace(target);
  return {
    graphId,
    language,
    file: isModule ? place : path.resolve(folder, place),
    exportName: name,
    description,
  };
}

/** Returns the export that a path names; without a name it is the default one. */
function parseModuleExport(ref: string | undefined, folder: string): ModuleExport | undefined {
  if (ref === undefined) return undefined;
  const { file, exportName } = parseGraphSource(
    '',
    /:[^/\\]+$/.test(ref) ? ref : `${ref}:default`,
    folder,
  );
  return { file, exportName };
}

function storeIndex(
  { store }: GxJson,
  folder: string,
  graphs: GraphSource[],
): StoreIndex | undefined {
  if (store?.index === undefined) return undefined;
  const { dims, embed, fields = ['$'] } = store.index;
  return { ...parseEmbedding(embed, folder, graphs), dims, fields };
}

/** A path tells its language. A provider is asked in Python where all graphs are in Python. */
function parseEmbedding(
  embed: string,
  folder: string,
  graphs: GraphSource[],
): Pick<StoreIndex, 'language' | 'embed'> {
  if (isEmbedCode(embed)) {
    const { language, file, exportName } = parseGraphSource('store', embed, folder);
    return { language, embed: { file, exportName } };
  }
  const provided = {
    provider: embed.slice(0, embed.indexOf(':')),
    model: embed.slice(embed.indexOf(':') + 1),
    folder,
  };
  return {
    language: graphs.every(({ language }) => language === 'python') ? 'python' : 'javascript',
    embed: provided,
  };
}

const addProject = (
  env: Record<string, string>,
  project: string | undefined,
): Record<string, string> =>
  project === undefined || LANGSMITH_PROJECTS.some((name) => name in env)
    ? env
    : { ...env, LANGSMITH_PROJECT: project };

/**
 * Returns `env` of gx.json, which is a map or the path of a file of NAME=value lines. A list of names and an empty path
 * ask the server for nothing. Repositories leave the file out, so a langgraph.json does without it.
 */
function readEnvironment(
  { env }: GxJson,
  file: string,
  python: boolean,
): {
  env: Record<string, string>;
  /** The remedy for a file that is not there. */ absent?: string;
} {
  if (env === undefined || env === '' || Array.isArray(env)) return { env: {} };
  if (typeof env !== 'string') return { env };
  const place = path.resolve(path.dirname(file), env);
  if (!existsSync(place)) {
    const example = findEnvExample(place);
    const remedy =
      example === undefined
        ? 'make it, or set its variables'
        : `cp ${env.slice(0, -path.basename(env).length)}${example} ${env}, then fill it in`;
    if (isOwnFile(file))
      throw new StartError(`${file}: "env" names ${env}, which is not there: ${remedy}.`);
    return { env: {}, absent: `${env} is not there: ${remedy}` };
  }
  try {
    return { env: readEnvFile(place, { python }) };
  } catch (error) {
    throw new StartError(
      `${file}: "env" names ${env}, which can't be read: it must be a file of NAME=value lines that this user may open.`,
      { cause: error },
    );
  }
}
