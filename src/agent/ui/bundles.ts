import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { asError, StartError } from '../../errors.ts';
import { askProcess } from '../kernel/ask-process.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import type { Bundles, BundlesAsked, BundlesMade } from './main.ts';

const PACKAGE = '@langchain/langgraph-ui';
/** Milliseconds that bundling may take. */
const WITHIN = 120_000;

type Source = Pick<GraphsFile, 'path' | 'folder' | 'settings'>;

/** Returns whether gx.json has components that are to be served. */
export const hasUi = ({ settings }: Pick<GraphsFile, 'settings'>): boolean =>
  Object.keys(settings.ui ?? {}).length > 0 && settings.http?.disable_ui !== true;

/**
 * Bundles the components that `ui` of gx.json names, with the project's `@langchain/langgraph-ui`. Throws a
 * `StartError` if the package or a file is missing, or if a component can't be bundled.
 */
export async function bundleUi({ path: file, folder, settings }: Source, signal: AbortSignal): Promise<Bundles> {
  const defs = settings.ui ?? {};
  for (const [name, source] of Object.entries(defs))
    if (!existsSync(path.resolve(folder, source))) throw new StartError(`${file}: "ui.${name}" names ${source}, which is not there.`);
  const asked: BundlesAsked = { bundler: bundlerIn(folder, file), cwd: folder, defs, config: settings.ui_config ?? {} };
  // The package for developers has this file compiled.
  const module = new URL(`main${path.extname(import.meta.url)}`, import.meta.url);
  const made = await askProcess<BundlesAsked, BundlesMade>(module, asked, {
    folder,
    within: WITHIN,
    signal,
  }).catch((error: unknown) => ({ failed: asError(error).message }));
  if ('failed' in made) throw new StartError(`${file}: "ui" can't be bundled: ${made.failed}`);
  return made.bundles;
}

function bundlerIn(folder: string, file: string): string {
  try {
    return createRequire(path.join(folder, 'package.json')).resolve(PACKAGE);
  } catch (error) {
    throw new StartError(
      `${file}: "ui" is bundled by ${PACKAGE}, which the project does not have. ` +
        `Add it (npm install ${PACKAGE}), or set http.disable_ui. An image needs it for agent-build only.`,
      { cause: error },
    );
  }
}

const fileIn = (folder: string): string => path.join(folder, 'ui.json');

/** Keeps the bundles in the build's folder. */
export const keepBundles = (folder: string, bundles: Bundles): void => writeFileSync(fileIn(folder), JSON.stringify(bundles));

/** Returns the bundles that a server of this gx.json serves: those of the image's build, else new ones. */
export async function servedBundles(source: Source, buildFolder: string | undefined, signal: AbortSignal): Promise<Bundles> {
  if (!hasUi(source)) return {};
  if (buildFolder === undefined || !existsSync(fileIn(buildFolder))) return bundleUi(source, signal);
  return JSON.parse(readFileSync(fileIn(buildFolder), 'utf8')) as Bundles;
}
