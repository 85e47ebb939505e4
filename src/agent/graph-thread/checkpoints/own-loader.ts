import { createRequire } from 'node:module';
import { load } from '@langchain/core/load';

/* LangChain's loader makes objects of classes, which a graph compares with those of the copy that it loaded itself. */

/** Makes the object of a record, which is JSON text. */
export type Loader = (text: string) => Promise<unknown>;

const LOADER = '@langchain/core/load';
/** A record that is marked as data. */
const DATA = { lc: 1, type: 'constructor', id: ['data'], kwargs: {} };

/**
 * Returns the loader of LangChain that goes with the modules which the files have loaded. Node has a second copy of a
 * package for files in CommonJS.
 */
export async function findLoader(files: readonly string[]): Promise<Loader> {
  for (const file of files) {
    const required = findRequiredLoader(file);
    if (required !== undefined && (await isDataSafe(required))) return required;
  }
  return (text) => load(text);
}

/** Returns the loader of CommonJS, if the file has loaded LangChain so. */
function findRequiredLoader(file: string): Loader | undefined {
  const own = createRequire(file);
  try {
    const place = own.resolve(LOADER);
    const end = place.search(/[\\/](dist[\\/])?load[\\/.]/);
    const isLoaded = Object.keys(own.cache).some(
      (name) => name.startsWith(place.slice(0, end)) && name !== place,
    );
    return isLoaded ? (own(LOADER) as { load: Loader }).load : undefined;
  } catch {
    return undefined;
  }
}

/** Old loaders would make objects of records that are marked as data. */
const isDataSafe = (loader: Loader): Promise<boolean> =>
  loader(JSON.stringify({ __lc_escaped__: DATA })).then(
    (value) => JSON.stringify(value) === JSON.stringify(DATA),
    () => false,
  );
