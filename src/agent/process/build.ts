import { mkdirSync } from 'node:fs';
import type { AgentBuildConfig } from '../../config/agent/agent-build.ts';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { readGraphsFile, type GraphsFile } from '../gx-json/read.ts';
import { keepSchemas } from '../graph-types/built-schemas.ts';
import { checkLanggraph } from '../graphs/javascript-langgraph.ts';
import { buildPythonPlace, choosePython, type PythonPlace } from '../graphs/python.ts';
import { proveLoading } from '../graph-types/loads.ts';
import { readTypes } from '../graph-types/typed-schemas.ts';
import { writeBills } from '../sbom/write.ts';
import { bundleUi, hasUi, keepBundles } from '../ui/bundles.ts';

/**
 * Makes in advance the files that an agent's server would otherwise make at run time, with packages that its image
 * need not keep: the schemas that only TypeScript knows, and the bundles of components. Writes the image's bills.
 * Throws a `StartError` for everything that would also prevent a start.
 */
export async function buildAgent(
  config: AgentBuildConfig,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const { configPath, sections, folder, within } = config;
  const file = readGraphsFile(configPath, sections);
  const fault = file.graphs.map(checkLanggraph).find((sentence) => sentence !== undefined);
  if (fault !== undefined) throw new StartError(`${fault}.`);
  mkdirSync(folder, { recursive: true });
  await proveLoading(
    { graphs: file.graphs, folder: file.folder, python: resolvePython(config, file) },
    log,
    signal,
  );
  await writeBills({ project: file.folder, folder }, log, signal);
  if (hasUi(file)) keepBundles(folder, await bundleUi(file, log, signal));
  const graphs = file.graphs.filter(({ language }) => language === 'javascript');
  if (within === 0 || graphs.length === 0) return;
  try {
    const schemas = await readTypes({ graphs, folder: file.folder, within }, signal);
    if (schemas === undefined)
      log.info('the project has no TypeScript 5 or 6: graphs without zod schemas will have none');
    else keepSchemas(folder, schemas);
  } catch (thrown) {
    log.warn(
      { err: toError(thrown) },
      'the types of the graphs can not be read: graphs without zod schemas will have none',
    );
  }
}

/** Returns the Python that a server with the same settings would run graphs with, or why there is none. */
function resolvePython(
  { python: settings }: AgentBuildConfig,
  file: GraphsFile,
): PythonPlace | { fault: string } {
  const chosen = choosePython(settings, file.folder);
  return 'fault' in chosen ? chosen : buildPythonPlace(chosen.program, settings, file);
}
