import { Problem, StartError } from '../../errors.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';
import type { StoreIndex } from '../../schema/wire/wall/graph-start.ts';
import { loadEmbedModel, type Embeddings } from './embed-model.ts';
import { importExport } from './import-export.ts';

/** Returns a vector of length one for each text, in their order. */
export type Embed = (texts: string[]) => Promise<number[][]>;

const AT = 'store.index.embed';

/** Loads the embedding: the user's own, or a provider's. */
export async function loadEmbed({ embed: source, dims }: StoreIndex): Promise<Embed> {
  const embed = 'provider' in source ? ofObject(await loadEmbedModel(source, AT)) : await ownEmbed(source);
  return async (texts) => {
    const vectors = texts.length === 0 ? [] : await embed(texts);
    if (vectors.length !== texts.length || vectors.some((vector) => vector.length !== dims))
      throw new Problem(500, `store.index: the embedding did not give one vector of ${dims} numbers for each text.`);
    return vectors.map(unit);
  };
}

const ofObject = (embeddings: Embeddings): Embed => embeddings.embedDocuments.bind(embeddings);

/** Loads a function from texts to vectors, or an object of LangChain's `Embeddings`. */
async function ownEmbed(source: ModuleExport): Promise<Embed> {
  const exported = (await importExport(source, AT)) as Embed | Partial<Embeddings>;
  if (typeof exported === 'function') return exported;
  if (typeof exported.embedDocuments === 'function') return ofObject(exported as Embeddings);
  throw new StartError(`${AT}: "${source.exportName}" of ${source.file} is neither a function nor an Embeddings object.`);
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
