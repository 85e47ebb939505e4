import { Problem, StartError } from '../../errors.ts';
import { importExport } from './import-export.ts';

/** `store.index` of gx.json. */
export type StoreIndex = { file: string; exportName: string; dims: number; fields: string[] };

/** Returns a vector of length one for each text, in their order. */
export type Embed = (texts: string[]) => Promise<number[][]>;

/** Loads the user's embedding: a function from texts to vectors, or an object of LangChain's `Embeddings`. */
export async function loadEmbed({ file, exportName, dims }: StoreIndex): Promise<Embed> {
  const exported = (await importExport({ file, exportName }, 'store.index.embed')) as Embed | { embedDocuments?: Embed };
  const embed = typeof exported === 'function' ? exported : exported.embedDocuments?.bind(exported);
  if (embed === undefined)
    throw new StartError(`store.index.embed: "${exportName}" of ${file} is neither a function nor an Embeddings object.`);
  return async (texts) => {
    const vectors = texts.length === 0 ? [] : await embed(texts);
    if (vectors.length !== texts.length || vectors.some((vector) => vector.length !== dims))
      throw new Problem(500, `store.index: the embedding did not give one vector of ${dims} numbers for each text.`);
    return vectors.map(unit);
  };
}

/** Returns the vector scaled to length one, so that the product of two is their cosine. */
function unit(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((number) => number / length);
}

/**
 * Returns the texts of a value that are searched by meaning: at the given paths, else at those of gx.json. `$` is the
 * whole value.
 */
export function textsOf(value: object, index: unknown, { fields }: Pick<StoreIndex, 'fields'>): string[] {
  if (index === false) return [];
  const paths = Array.isArray(index) ? (index as string[]) : fields;
  const found = paths.flatMap((path) => (path === '$' ? [value] : at(value, path.replaceAll(/\[(\*|-?\d+)\]/g, '.$1').split('.'))));
  return found.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
}

function at(value: unknown, [part, ...rest]: string[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (part === undefined) return [value];
  if (Array.isArray(value))
    return (part === '*' ? (value as unknown[]) : [(value as unknown[]).at(Number(part))]).flatMap((one) => at(one, rest));
  if (typeof value !== 'object') return [];
  return part === '*' ? Object.values(value).flatMap((one) => at(one, rest)) : at((value as Record<string, unknown>)[part], rest);
}
