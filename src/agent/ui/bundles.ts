import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { askProcess } from '../kernel/ask-process.ts';
import { findPackageFolder } from '../kernel/package-folder.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import type { Bundles, BundlesAsked, BundlesMade } from './main.ts';

const PACKAGE = '@langchain/langgraph-ui';
/** Milliseconds that bundling may take. */
const WITHIN = 120_000;

/** Returns whether gx.json has components that are to be served. */
export const hasUi = ({ settings }: GraphsFile): boolean =>
  Object.keys(settings.ui ?? {}).length > 0 && settings.http?.disable_ui !== true;

/**
 * Bundles the components that `ui` of gx.json names, with the project's `@langchain/langgraph-ui`. Without that package
 * there are none, which the log says. Throws a `StartError` if a file is missing, or if a component can't be bundled.
 */
export async function bundleUi(
  { path: file, folder, settings }: GraphsFile,
  log: Log,
  signal: AbortSignal,
): Promise<Bundles> {
  const defs = settings.ui ?? {};
  for (const [name, source] of Object.entries(defs))
    if (!existsSync(path.resolve(folder, source)))
      throw new StartError(`${file}: "ui.${name}" names ${source}, which is not there.`);
  const bundler = findBundler(folder);
  if (bundler === undefined) {
    const remedy = `npm install ${PACKAGE} adds it; in an image, agent-build alone needs it; http.disable_ui asks for none`;
    log.warn(
      { file, package: PACKAGE, remedy },
      'the components of "ui" are not served: the project lacks the package that bundles them',
    );
    return {};
  }
  const asked: BundlesAsked = { bundler, cwd: folder, defs, config: settings.ui_config ?? {} };
  // The package for developers has this file compiled.
  const module = new URL(`main${path.extname(import.meta.url)}`, import.meta.url);
  const made = await askProcess<BundlesAsked, BundlesMade>(module, asked, {
    folder,
    within: WITHIN,
    signal,
  }).catch((error: unknown) => ({ failed: toError(error).message }));
  if ('failed' in made) throw new StartError(`${file}: "ui" can't be bundled: ${made.failed}`);
  return made.bundles;
}

/** Packages of the vendor that have the bundler below them: pnpm shows a project only those that it names itself. */
const ABOVE = [
  [],
  ['@langchain/langgraph-api'],
  ['@langchain/langgraph-cli', '@langchain/langgraph-api'],
];

/** Returns the file of the bundler: the project's own, or else that of the vendor's server or command. */
function findBundler(folder: string): string | undefined {
  for (const chain of ABOVE) {
    const owner = chain.reduce<string | undefined>(
      (at, name) => at && findPackageFolder(at, name),
      folder,
    );
    if (owner === undefined) continue;
    try {
      return createRequire(path.join(owner, 'package.json')).resolve(PACKAGE);
    } catch {
      // It may lie below another one.
    }
  }
  return undefined;
}

const buildBundlesPath = (folder: string): string => path.join(folder, 'ui.json');

/** Keeps the bundles in the build's folder. */
export const keepBundles = (folder: string, bundles: Bundles): void =>
  writeFileSync(buildBundlesPath(folder), JSON.stringify(bundles));

/** Returns the bundles that a server of this gx.json serves: those of the image's build, else new ones. */
export async function prepareUiBundles(
  source: GraphsFile,
  buildFolder: string | undefined,
  /** Whether the graphs are served without components that can't be bundled. */
  partial: boolean,
  log: Log,
  signal: AbortSignal,
): Promise<Bundles> {
  if (!hasUi(source)) return {};
  if (buildFolder !== undefined && existsSync(buildBundlesPath(buildFolder)))
    return JSON.parse(readFileSync(buildBundlesPath(buildFolder), 'utf8')) as Bundles;
  try {
    return await bundleUi(source, log, signal);
  } catch (error) {
    if (!partial || !(error instanceof StartError)) throw error;
    log.error({ err: error }, 'the components of "ui" are not served until this is fixed');
    return {};
  }
}
