import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readDevConfig } from '../env.ts';
import { UsageError } from '../errors.ts';
import { isExecutable } from '../executable.ts';
import { runMain, printAside, type Report } from '../steps.ts';
import { findCommand, installMissing } from './debian.ts';
import { compileIntoCache, checkGo } from './go-build.ts';
import { getGoFolder } from './go-cache.ts';
import { parts, type PartName } from './part-list.ts';
import { listPartTools, type GoBuild, type Part } from './part.ts';
import { EXTRAS, type Extra } from './provider.ts';
import { findDebianProgram, unpackDebianPrograms } from './debian-programs.ts';
import { findNpmProgram, unpackNpmPrograms } from './npm-programs.ts';
import { findUnpacked, unpackIntoCache } from './unpacked.ts';

export type { PartName } from './part-list.ts';

const partNames = Object.keys(parts) as PartName[];
const getPart = (name: PartName): Part => parts[name];

export const nodeParts = partNames.filter((name) => getPart(name).for === 'node');

const findExtra = (name: PartName): Extra | undefined =>
  (getPart(name).runs ?? []).find(({ extra }) => extra !== undefined)?.extra;
/** The parts of a node that starts. The others come with their extra. */
export const firstNodeParts = nodeParts.filter((name) => findExtra(name) === undefined);

/** Returns the parts of a node's extras. Gitea runs git, too. */
export const listExtraParts = (extras: readonly Extra[]): PartName[] =>
  nodeParts.filter((name) =>
    extras.some((extra) => extra === findExtra(name) || (extra === 'gitea' && name === 'git')),
  );

const listAllTools = (names: readonly PartName[]): string[] =>
  names.flatMap((name) => listPartTools(getPart(name)));
export const toolsOfFirst = listAllTools(firstNodeParts);

/** Returns where each tool of a node's extras is, or will be once it is built. */
export const mapExtraTools = (): Record<string, string> =>
  Object.fromEntries(
    listExtraParts(EXTRAS).flatMap((name) =>
      listPartTools(getPart(name)).map((tool) => [tool, resolveToolPath(name, tool)]),
    ),
  );

function resolveToolPath(name: PartName, tool: string): string {
  const { from } = getPart(name);
  return (
    findTool(tool) ??
    (from.kind === 'go' ? join(getGoFolder(chooseGoBuild(name, from)), tool) : tool)
  );
}

/**
 * Returns the build of a part for this machine. A cluster for trying things may run programs that are compiled in two
 * thirds of the time, without inlining and debug information. Benchmarks, images and releases may not.
 */
const chooseGoBuild = (name: PartName, from: GoBuild): GoBuild =>
  readDevConfig().needsOptimizedParts || ['images', 'release'].includes(getPart(name).for)
    ? from
    : { ...from, flags: ['-gcflags=all=-l -dwarf=false', ...from.flags] };

/** Returns where a tool is, if it needs no build: in KUBEBUILDER_ASSETS, in the cache, or installed by its package. */
export function findTool(tool: string): string | undefined {
  const name = requirePartOfTool(tool);
  const { from } = getPart(name);
  if (from.kind === 'debian') return findCommand(from, tool);
  if (from.kind === 'unpacked') return findUnpacked(from, tool);
  const { toolsFolder } = readDevConfig();
  const { ready } = getPart(name);
  const unpacked = ready && findReadyProgram(ready, tool);
  // An optimized build that is there already does for everybody.
  const folders = [from, chooseGoBuild(name, from)].map(getGoFolder);
  const paths = [...(toolsFolder === undefined ? [] : [toolsFolder]), ...folders].map((folder) =>
    join(folder, tool),
  );
  return [...(unpacked === undefined ? [] : [unpacked]), ...paths].find(isExecutable);
}

const findReadyProgram = (ready: NonNullable<Part['ready']>, tool: string): string | undefined =>
  ready.kind === 'npm' ? findNpmProgram(ready, tool) : findDebianProgram(ready, tool);

/** Returns whether nothing of these parts has to be built or installed. */
export const hasBuiltParts = (names: readonly PartName[]): boolean =>
  listAllTools(names).every((tool) => findTool(tool) !== undefined);

/** Returns the path of each of these tools, and builds or installs those that are missing. */
export async function ensureTools<T extends string>(
  tools: readonly T[],
  report: Report = printAside,
): Promise<Record<T, string>> {
  const missing = tools.filter((tool) => findTool(tool) === undefined);
  await installParts([...new Set(missing.map(requirePartOfTool))], report);
  return mapToolPaths(tools);
}

/** Returns the path of each tool of these parts, and builds or installs those that are missing. */
export async function ensureParts(
  names: readonly PartName[],
  report: Report = printAside,
): Promise<Record<string, string>> {
  await installParts(names, report);
  return mapToolPaths(listAllTools(names));
}

/** Returns why this machine can't compile the parts of these tools that it does not have, or undefined. */
export async function checkTools(tools: readonly string[]): Promise<string | undefined> {
  const missing = tools
    .filter((tool) => findTool(tool) === undefined)
    .map((tool) => getPart(requirePartOfTool(tool)).from);
  for (const from of missing) {
    const lack = from.kind === 'go' ? await checkGo(from) : undefined;
    if (lack !== undefined) return lack;
  }
  return undefined;
}

async function installParts(names: readonly PartName[], report: Report): Promise<void> {
  const sources = names.map((name) => getPart(name).from);
  await installMissing(
    sources.filter((from) => from.kind === 'debian'),
    report,
  );
  for (const from of sources) if (from.kind === 'unpacked') await unpackIntoCache(from, report);
  for (const name of names) await ensureProgram(name, report);
}

async function ensureProgram(name: PartName, report: Report): Promise<void> {
  const { from, ready } = getPart(name);
  if (from.kind !== 'go' || hasBuiltParts([name])) return;
  if (ready?.kind === 'npm') await unpackNpmPrograms(ready, report);
  if (ready?.kind === 'debian-programs') await unpackDebianPrograms(ready, report);
  if (!hasBuiltParts([name])) await compileIntoCache(chooseGoBuild(name, from), report);
}

const mapToolPaths = <T extends string>(tools: readonly T[]): Record<T, string> =>
  Object.fromEntries(tools.map((tool) => [tool, findTool(tool)])) as Record<T, string>;

function requirePartOfTool(tool: string): PartName {
  const found = partNames.find((name) => listPartTools(getPart(name)).includes(tool));
  if (found === undefined) throw new Error(`No part holds a tool named ${tool}.`);
  return found;
}

const USAGE = `usage: node dev/cluster/parts.ts [part ...]
Builds or installs parts that are missing, and prints where their tools are.
parts: ${partNames.join(' ')} (by default those of a native node)`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return void process.stdout.write(`${USAGE}\n`);
  const unknown = positionals.filter((name) => !(name in parts));
  if (unknown.length > 0) throw new UsageError(`There is no part ${unknown.join(', ')}.\n${USAGE}`);
  const names = positionals.length > 0 ? (positionals as PartName[]) : nodeParts;
  const tools = await ensureParts(names);
  for (const [tool, path] of Object.entries(tools)) process.stdout.write(`${tool} ${path}\n`);
}

if (import.meta.main) await runMain(main);
