import { mkdirSync } from 'node:fs';
import type { AgentBuildConfig } from '../../config/agent-build.ts';
import { asError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { readGraphsFile } from '../gx-json/read.ts';
import { keepSchemas } from '../graph-types/built-schemas.ts';
import { proveLoading } from '../graph-types/loads.ts';
import { readTypes } from '../graph-types/typed-schemas.ts';
import { writeBills } from '../sbom/write.ts';
import { bundleUi, hasUi, keepBundles } from '../ui/bundles.ts';

/**
 * Makes in advance the files that an agent's server would otherwise make at run time, with packages that its image
 * need not keep: the schemas that only TypeScript knows, and the bundles of components. Writes the image's bills.
 * Throws a `StartError` for everything that would also prevent a start.
 */
export async function buildAgent({ configPath, sections, folder, within }: AgentBuildConfig, log: Log, signal: AbortSignal): Promise<void> {
  const file = readGraphsFile(configPath, sections);
  const graphs = file.graphs.filter(({ language }) => language === 'javascript');
  if (graphs.length < file.graphs.length) log.info('graphs in Python are loaded by the server alone');
  mkdirSync(folder, { recursive: true });
  if (graphs.length > 0) await proveLoading({ graphs, folder: file.folder }, log, signal);
  await writeBills({ project: file.folder, folder }, log, signal);
  if (hasUi(file)) keepBundles(folder, await bundleUi(file, signal));
  if (within === 0 || graphs.length === 0) return;
  try {
    const schemas = await readTypes({ graphs, folder: file.folder, within }, signal);
    if (schemas === undefined) log.info('the project has no TypeScript 5 or 6: graphs without zod schemas will have none');
    else keepSchemas(folder, schemas);
  } catch (thrown) {
    log.warn({ err: asError(thrown) }, 'the types of the graphs can not be read: graphs without zod schemas will have none');
  }
}
