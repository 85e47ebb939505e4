import { findExecutable } from '../executable.ts';
import { MissingRequirement } from '../errors.ts';
import type { Report } from '../steps.ts';
import { ensureTools, findTool, lackForTools } from './parts.ts';

/*
 * Tools that many machines have: those on the PATH come first, and a part is compiled where there is none.
 */

/** A tool by its name on the PATH, and its names in the part list. */
type PathTool = { name: string; tools: readonly string[] };

export const HELM: PathTool = { name: 'helm', tools: ['helm', 'alone/helm'] };
export const KIND: PathTool = { name: 'kind', tools: ['kind'] };
export const KUBECTL: PathTool = { name: 'kubectl', tools: ['kubectl'] };

const found = ({ name, tools }: PathTool): string | undefined =>
  findExecutable(name) ?? tools.map((tool) => findTool(tool)).find((path) => path !== undefined);

/** Returns the path of the tool: on the PATH, in the cache, or compiled now. */
export async function pathTool(tool: PathTool, report: Report): Promise<string> {
  const path = found(tool);
  if (path !== undefined) return path;
  const last = tool.tools.at(-1) ?? tool.name;
  return (await ensureTools([last], report))[last] ?? last;
}

/** Throws `MissingRequirement` if some of the tools are neither here nor can be compiled. */
export async function requirePathTools(tools: readonly PathTool[]): Promise<void> {
  const missing = tools.filter((tool) => found(tool) === undefined);
  const lack = await lackForTools(missing.flatMap((tool) => tool.tools.at(-1) ?? []));
  if (lack === undefined) return;
  const names = missing.map(({ name }) => name).join(', ');
  throw new MissingRequirement(`Not on the PATH: ${names}. Install that, or its compiler: ${lack}.`);
}
