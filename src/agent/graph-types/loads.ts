import path from 'node:path';
import { StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import { askProcess } from '../kernel/ask-process.ts';

/** Milliseconds that loading may take. Modules that wait for a service are loaded by the server alone. */
const PATIENCE = 30_000;

/**
 * Loads the modules of graphs once, without the settings of a deployment. Throws a `StartError` for those that no
 * setting can help: their syntax is wrong, or they import a file that is not there.
 */
export async function proveLoading(
  { graphs, folder }: { graphs: GraphSource[]; folder: string },
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const files = [...new Set(graphs.map(({ file }) => file))];
  const module = new URL(`load${path.extname(import.meta.url)}`, import.meta.url);
  const asked = askProcess<string[], string[]>(module, files, { folder, within: PATIENCE, signal });
  const faults = await asked.catch((thrown: unknown) => {
    log.info({ err: thrown }, 'the modules of the graphs were not loaded for a trial');
    return [];
  });
  if (faults.length > 0) throw new StartError(`Graphs can't be loaded. ${faults.join(' ')}`);
}
