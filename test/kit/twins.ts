import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/*
 * A Python twin does what a graph of the tests does, under the same name, in the file beside it: graphs.py beside
 * graphs.ts. Where the setup of the tests says so, servers run the twins.
 */

const FOLDER = '.run/twins';
const JAVASCRIPT = /\.[jt]s(?=:\w+$)/;

/** The variable that names the interpreter of the twins. Without it, servers run the graphs themselves. */
export const TWINS_PYTHON = 'GX_TEST_TWINS_PYTHON';

type GxFile = {
  graphs?: Record<string, string | { path: string }>;
  auth?: { path: string };
  http?: { app?: string };
  encryption?: { path: string };
};

/** Returns the config and the environment of a server whose graphs are the twins, if there are to be any. */
export function twinsOf(config: string): { config: string; env: Record<string, string> } {
  const python = process.env[TWINS_PYTHON];
  if (python === undefined || !existsSync(config)) return { config, env: {} };
  const text = JSON.stringify(withTwins(config));
  const file = resolve(
    FOLDER,
    `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`,
  );
  mkdirSync(FOLDER, { recursive: true });
  // Two servers may start at once, and neither may read half a file.
  const whole = `${file}.${randomUUID()}`;
  writeFileSync(whole, text);
  renameSync(whole, file);
  return { config: file, env: { GX_PYTHON: python } };
}

function withTwins(config: string): unknown {
  const folder = dirname(resolve(config));
  const { graphs = {}, ...given } = withWholePaths(
    JSON.parse(readFileSync(config, 'utf8')),
    folder,
  ) as GxFile;
  const others = withTwinsOfParts(given);
  const twins = Object.entries(graphs).map(([name, graph]) => [
    name,
    typeof graph === 'string' ? twinOf(graph) : { ...graph, path: twinOf(graph.path) },
  ]);
  return { ...others, graphs: Object.fromEntries(twins) as unknown };
}

/** The parts beside the graphs run in one language, so that either all of them have twins or none is taken. */
function withTwinsOfParts({ auth, http, encryption, ...others }: GxFile): GxFile {
  const parts = [auth?.path, http?.app, encryption?.path]
    .filter((part) => part !== undefined)
    .map(named);
  const isTwinned = parts.every((part) => existsSync(placeOf(part.replace(JAVASCRIPT, '.py'))));
  return {
    ...others,
    ...(auth && { auth: isTwinned ? { ...auth, path: twinOf(auth.path) } : auth }),
    ...(encryption && {
      encryption: isTwinned ? { ...encryption, path: twinOf(encryption.path) } : encryption,
    }),
    ...(http && {
      http: isTwinned && http.app !== undefined ? { ...http, app: twinOf(named(http.app)) } : http,
    }),
  };
}

/** Returns a path with the name of its export, where it has none. */
const named = (code: string): string => (/\.[jt]s$/.test(code) ? `${code}:default` : code);

const placeOf = (code: string): string => code.slice(0, code.lastIndexOf(':'));

function twinOf(graph: string): string {
  const twin = graph.replace(JAVASCRIPT, '.py');
  if (!existsSync(placeOf(twin))) throw new Error(`${graph} has no twin in Python.`);
  return twin;
}

/** Returns the value with each path in it as seen from everywhere. */
function withWholePaths(value: unknown, folder: string): unknown {
  if (typeof value === 'string') return /^\.\.?\//.test(value) ? join(folder, value) : value;
  if (Array.isArray(value)) return value.map((one) => withWholePaths(one, folder));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withWholePaths(one, folder)]),
  );
}
