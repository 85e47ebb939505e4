import { findExecutable } from '../executable.ts';
import { MissingRequirement } from '../errors.ts';
import type { Report } from '../steps.ts';
import { ensureTools, findTool, checkTools } from './parts.ts';

/*
 * Tools that many machines have: those on the PATH come first, and a part is compiled where there is none.
 */

type PathTool = 'helm' | 'kind' | 'kubectl';

const find = (name: PathTool): string | undefined => findExecutable(name) ?? findTool(name);

/** Returns the path of the tool: on the PATH, in the cache, or brought there now. */
export const ensurePathTool = async (name: PathTool, report: Report): Promise<string> =>
  find(name) ?? (await ensureTools([name], report))[name];

/** Throws `MissingRequirement` if some of the tools are neither here nor can be compiled. */
export async function requirePathTools(tools: readonly PathTool[]): Promise<void> {
  const missing = tools.filter((name) => find(name) === undefined);
  const lack = await checkTools(missing);
  if (lack === undefined) return;
  throw new MissingRequirement(
    `Not on the PATH: ${missing.join(', ')}. Install that, or its compiler: ${lack}.`,
  );
}
