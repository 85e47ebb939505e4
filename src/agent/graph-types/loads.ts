import path from 'node:path';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import { listModuleFaults } from '../graphs/python-trial.ts';
import type { PythonPlace } from '../graphs/python.ts';
import { askProcess } from '../kernel/ask-process.ts';

/** Milliseconds that loading may take in each language. The server alone loads modules that wait for a service. */
const PATIENCE = 30_000;

/**
 * Loads the modules of graphs once, without the settings of a deployment. Throws a `StartError` for those that no
 * setting can help: their syntax is wrong, or they import a file that is not there.
 */
export async function proveLoading(
  {
    graphs,
    folder,
    python,
  }: {
    graphs: readonly GraphSource[];
    /** Of gx.json. */ folder: string;
    python: PythonPlace | { fault: string };
  },
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const listFiles = (wanted: GraphSource['language']): string[] => [
    ...new Set(graphs.filter(({ language }) => language === wanted).map(({ file }) => file)),
  ];
  const runTrial = async (files: string[], trial: () => Promise<string[]>): Promise<string[]> => {
    if (files.length === 0) return [];
    return trial().catch((thrown: unknown) => {
      log.info({ err: toError(thrown) }, 'the modules of the graphs were not loaded for a trial');
      return [];
    });
  };
  const [scripts, modules] = [listFiles('javascript'), listFiles('python')];
  const module = new URL(`load${path.extname(import.meta.url)}`, import.meta.url);
  const asked = { folder, within: PATIENCE, signal };
  const faults = [
    ...(await runTrial(scripts, () => askProcess<string[], string[]>(module, scripts, asked))),
    ...(await runTrial(modules, async () => {
      if ('fault' in python) throw new StartError(`${python.fault}.`);
      return listModuleFaults(python, modules, PATIENCE, signal);
    })),
  ];
  if (faults.length > 0) throw new StartError(`Graphs can't be loaded. ${faults.join(' ')}`);
}
