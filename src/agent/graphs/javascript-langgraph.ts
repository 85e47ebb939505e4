import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findPackageFolder } from '../kernel/package-folder.ts';
import { addCommand } from '../kernel/package-manager.ts';
import { isOlder } from '../kernel/versions.ts';

/* Graphs in JavaScript bring their own LangGraph, whose version is read before they are loaded. */

/** The oldest series whose graphs run here. Those before name their questions otherwise. */
const LOWEST = '0.3';
/** The oldest series that is supported: `make test-matrix`. */
const TRIED = '1.2';
const PACKAGE = '@langchain/langgraph';

/** Returns why LangGraph is too old for a graph, with the command that mends it; undefined where it serves. */
export function checkLanggraph({
  language,
  file,
}: {
  language: 'javascript' | 'python';
  file: string;
}): string | undefined {
  const found = language === 'javascript' ? findLanggraph(file) : undefined;
  if (found === undefined || !isOlder(found.version, LOWEST)) return undefined;
  return `Graphs in JavaScript need LangGraph ${LOWEST} or newer, and ${found.folder} has ${found.version}: run ${updateCommand(file)}`;
}

/** Returns a warning for each LangGraph that is older than the tried ones. */
export function listUntriedLanggraphs(
  graphs: readonly { language: 'javascript' | 'python'; file: string }[],
): string[] {
  const sentences = graphs.flatMap(({ language, file }) => {
    const found = language === 'javascript' ? findLanggraph(file) : undefined;
    if (found === undefined || isOlder(found.version, LOWEST) || !isOlder(found.version, TRIED))
      return [];
    return [
      `LangGraph ${found.version} is older than ${TRIED}, the oldest that is tested here; ${updateCommand(file)} brings a newer one`,
    ];
  });
  return [...new Set(sentences)];
}

/** Returns the version that a file's imports reach; undefined where there is none. */
function findLanggraph(file: string): { version: string; folder: string } | undefined {
  const folder = findPackageFolder(path.dirname(file), PACKAGE);
  if (folder === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    version?: string;
  };
  return version === undefined ? undefined : { version, folder };
}

const updateCommand = (file: string): string =>
  addCommand(file, `${PACKAGE}@latest @langchain/core@latest`);
