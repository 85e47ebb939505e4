import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import process from 'node:process';
import { hasBuiltParts, firstNodeParts, listExtraParts, type PartName } from '../cluster/parts.ts';
import type { Provider } from '../cluster/provider.ts';
import { step } from '../steps.ts';

const LOG = '.run/test/parts.log';

/** Suites that prove something before the first part is compiled. */
export const NEEDS_NO_PARTS: readonly string[] = ['check', 'agent'];

/** Suites on a real API server or of builds. Their pods need the parts of their cluster. */
const SUITES_WITH_PARTS: readonly string[] = ['kube', 'console', 'builder', 'charts'];
const OF_TESTS: readonly PartName[] = ['kube', 'verdict', 'registry'];
/** Parts of a node for the tests in pods that are among all tests. */
const OF_PODS: readonly PartName[] = [...firstNodeParts, ...listExtraParts(['registry', 'git'])];

/** Returns the parts that later suites need, if there are suites during which they can be compiled. */
export function listNeededParts(
  suites: readonly string[],
  cluster: Provider['kind'] | undefined,
): readonly PartName[] {
  if (!suites.some((suite) => NEEDS_NO_PARTS.includes(suite))) return [];
  const needed = suites.some((suite) => SUITES_WITH_PARTS.includes(suite)) ? OF_TESTS : [];
  return [...new Set([...needed, ...(cluster === 'native' ? OF_PODS : [])])];
}

/**
 * Compiles the parts that are missing while other suites run, with the processors that they leave idle. `compiled`
 * waits for the end. A part that could not be compiled fails the suites that need it, each with the reason.
 */
export function compileBehind(parts: readonly PartName[]): { compiled(): Promise<void> } {
  if (hasBuiltParts(parts)) return { compiled: () => Promise.resolve() };
  const log = openSync(LOG, 'w');
  const child = spawn('nice', ['-n', '19', process.execPath, 'dev/cluster/parts.ts', ...parts], {
    stdio: ['ignore', log, log],
  });
  const ended = new Promise<void>(
    (resolve) => void child.once('close', resolve).once('error', () => resolve()),
  );
  let compiled: Promise<void> | undefined;
  return {
    compiled: () =>
      (compiled ??= step(
        `parts of the cluster, compiled since the start: ${LOG} says how far`,
        () => ended,
      )),
  };
}
