import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isExecutable } from './executable.ts';
import { build } from './part-build.ts';
import { folderOf, isCached } from './part-cache.ts';
import { nativeParts, partNames, partOf, parts, toolsOf, type PartName } from './part-list.ts';
import type { Report } from './report.ts';

export type { PartName } from './part-list.ts';

/** Where a tool is, if it can be had without a build: KUBEBUILDER_ASSETS first, then the cache. */
export function findTool(tool: string): string | undefined {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const part = partOf(tool);
  const folders = [...(assets ? [assets] : []), ...(part ? [folderOf(part)] : [])];
  return folders.map((folder) => join(folder, tool)).find(isExecutable);
}

/** The paths of these tools; parts that are found nowhere are built. */
export async function ensureTools(tools: readonly string[], report: Report): Promise<Record<string, string>> {
  const paths: Record<string, string> = {};
  for (const tool of tools) {
    const part = partOf(tool);
    if (part === undefined) throw new Error(`No part holds a tool named ${tool}.`);
    if (findTool(tool) === undefined) await build(part, report);
    paths[tool] = findTool(tool) ?? join(folderOf(part), tool);
  }
  return paths;
}

/** The paths of all tools of these parts; parts that are not in the cache are built. */
export async function ensureParts(names: readonly PartName[], report: Report): Promise<Record<string, string>> {
  for (const name of names) if (!isCached(parts[name])) await build(parts[name], report);
  const tools = names.flatMap((name) => toolsOf(parts[name]));
  return Object.fromEntries(tools.map((tool) => [tool, findTool(tool) as string]));
}

const usage = `usage: node dev/cluster/parts.ts [part ...]
Builds the parts that are not in the cache, and prints where their tools are.
parts: ${partNames.join(' ')} (by default what a native cluster needs)`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  });
  const unknown = positionals.filter((name) => !(name in parts));
  if (values.help === true || unknown.length > 0) {
    process.stdout.write(`${usage}\n`);
    process.exitCode = unknown.length > 0 ? 2 : 0;
    return;
  }
  const names = positionals.length > 0 ? (positionals as PartName[]) : nativeParts;
  const tools = await ensureParts(names, (line) => process.stderr.write(`${line}\n`));
  const lines = Object.entries(tools).map(([tool, path]) => `${tool} ${path}\n`);
  process.stdout.write(lines.join(''));
}

if (import.meta.main) {
  await main().catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
