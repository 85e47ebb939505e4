import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StageFailed } from '../../errors.ts';
import { readTree } from '../layers/tree.ts';
import { logLine } from '../progress.ts';
import { getWorkPaths } from '../work.ts';
import {
  toProxiedText,
  toRealText,
  type ProxiedScope,
  type ProxiedScopes,
} from './private-indexes.ts';

/** How a build uses private indexes: by addresses of the proxy, which stand in its files while it installs. */
export type UsedIndexes = {
  /** Returns the address of the proxy that stands for one of an index; any other stays. */
  proxied(address: string): string;
  /** Returns a line of output with the real addresses, which its reader knows. */
  shown(line: string): string;
  /** Does work while the files that name indexes name the proxy. Afterwards they are as they were. */
  during<T>(work: () => Promise<T>): Promise<T>;
};

/** Files of a project in Python that may name an index. */
const NAMING =
  /(^|\/)(pyproject\.toml|setup\.cfg|(uv|poetry|pdm)\.(lock|toml)|pip\.conf|pip\.ini|[^/]*(requirement|constraint)[^/]*\.(txt|in))$/;
const PATIENCE = 30_000;

/** Asks the proxy of this pod which private indexes it has. Without a proxy, or graphs in Python, there are none. */
export async function fetchIndexes(
  config: ImageBuildConfig,
  { python }: { python?: { pipFile?: string } },
  signal: AbortSignal,
): Promise<UsedIndexes> {
  const { proxy } = config.indexes;
  const scopes = proxy === undefined || python === undefined ? [] : await askProxy(proxy, signal);
  for (const { real } of scopes) logLine(`private index: ${real}, through the proxy of this pod`);
  const { source } = getWorkPaths(config.work);
  return {
    proxied: (address) => toProxiedText(address, scopes),
    shown: (line) => toRealText(line, scopes),
    during: (work) =>
      scopes.length === 0 ? work() : runThroughProxy(source, scopes, python?.pipFile, work),
  };
}

async function askProxy(proxy: string, signal: AbortSignal): Promise<ProxiedScope[]> {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const answer = await fetch(proxy, { signal }).catch(() => undefined);
    signal.throwIfAborted();
    if (answer?.ok === true) {
      const { scopes, problem } = (await answer.json()) as ProxiedScopes;
      if (problem !== undefined) throw new StageFailed('BuildFailed', problem);
      return scopes;
    }
    if (performance.now() > end)
      throw new StageFailed(
        'BuildFailed',
        'The proxy of private indexes does not answer: look at its container.',
      );
    await wait(200, undefined, { signal });
  }
}

async function runThroughProxy<T>(
  source: string,
  scopes: readonly ProxiedScope[],
  pipFile: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const changed = new Map<string, { before: string; after: string }>();
  const isNaming = (name: string): boolean => NAMING.test(name) || name === pipFile;
  for (const { name, kind } of readTree(source, (each) =>
    /(^|\/)(node_modules|\.git|\.venv)$/.test(each),
  )) {
    if (kind !== 'file' || !isNaming(name)) continue;
    const before = readFileSync(path.join(source, name), 'latin1');
    const after = toProxiedText(before, scopes);
    if (after === before) continue;
    writeFileSync(path.join(source, name), after, 'latin1');
    changed.set(path.join(source, name), { before, after });
  }
  const result = await work();
  for (const [file, { before, after }] of changed) putBack(file, before, after);
  return result;

  /** A command of the repository may have changed or removed the file meanwhile. */
  function putBack(file: string, before: string, after: string): void {
    const text = readText(file);
    if (text !== undefined)
      writeFileSync(file, text === after ? before : toRealText(text, scopes), 'latin1');
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
