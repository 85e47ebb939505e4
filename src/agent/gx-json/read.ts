import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { Invalid, StartError } from '../../errors.ts';
import { createValidator } from '../../http/validate.ts';
import { GxJson, NOT_BUILT } from '../../schema/gx-json.ts';
import type { StoreIndex } from './embed.ts';
import type { ModuleExport } from './import-export.ts';

/** One graph of gx.json: its name, the file and the export that make it. */
export type GraphSource = { graphId: string; file: string; exportName: string; description: string | null };

export type GraphsFile = {
  path: string;
  folder: string;
  settings: GxJson;
  graphs: GraphSource[];
  env: Record<string, string>;
  index: StoreIndex | undefined;
  /** The handlers that decide who may call; undefined when everybody may. */
  auth: ModuleExport | undefined;
};

/** Reads gx.json. Throws a `StartError` that names the file and the field for whatever is wrong. */
export function readGraphsFile(configPath: string): GraphsFile {
  const file = path.resolve(configPath);
  const settings = validated(parsed(file), file);
  for (const key of NOT_BUILT)
    if (asks(at(settings, key))) throw new StartError(`${file}: "${key}" asks for something this server does not do yet; remove it.`);
  const folder = path.dirname(file);
  const graphs = Object.entries(settings.graphs).map(([graphId, ref]) => source(graphId, ref, folder));
  return {
    path: file,
    folder,
    settings,
    graphs,
    env: environment(settings, file),
    index: storeIndex(settings, folder),
    auth: authExport(settings, folder),
  };
}

function parsed(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`${file} can't be read (${(error as NodeJS.ErrnoException).code}). Set GX_CONFIG or --config.`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StartError(`${file} is not valid JSON: ${(error as Error).message}.`, { cause: error });
  }
}

function validated(value: unknown, file: string): GxJson {
  try {
    return createValidator()(GxJson, 'body')(value, 'body') as GxJson;
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    const problems = error.fields.map((field) => `"${field.loc.slice(1).join('.') || 'the file'}" ${field.msg}`);
    throw new StartError(`${file}: ${problems.join('; ')}.`, { cause: error });
  }
}

/** Returns whether a switch asks for anything; one that is off does not. */
const asks = (value: unknown): boolean => value !== undefined && value !== false;

const at = (settings: object, key: string): unknown =>
  key.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], settings);

function source(graphId: string, ref: string | { path: string; description?: string }, folder: string): GraphSource {
  const { path: target, description = null } = typeof ref === 'string' ? { path: ref } : ref;
  const colon = target.lastIndexOf(':');
  return { graphId, file: path.resolve(folder, target.slice(0, colon)), exportName: target.slice(colon + 1), description };
}

function authExport({ auth }: GxJson, folder: string): ModuleExport | undefined {
  if (auth === undefined) return undefined;
  const { file, exportName } = source('auth', auth.path, folder);
  return { file, exportName };
}

function storeIndex({ store }: GxJson, folder: string): StoreIndex | undefined {
  if (store?.index === undefined) return undefined;
  const { dims, embed, fields = ['$'] } = store.index;
  const { file, exportName } = source('store', embed, folder);
  return { file, exportName, dims, fields };
}

/**
 * Returns `env` of gx.json, which is a map or the path of a file of NAME=value lines. A list of names asks the server
 * for nothing.
 */
function environment({ env }: GxJson, file: string): Record<string, string> {
  if (env === undefined || Array.isArray(env)) return {};
  if (typeof env !== 'string') return env;
  try {
    return parseEnv(readFileSync(path.resolve(path.dirname(file), env), 'utf8')) as Record<string, string>;
  } catch (error) {
    throw new StartError(`${file}: "env" names ${env}, which can't be read.`, { cause: error });
  }
}
