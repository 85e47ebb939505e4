import { Problem, StartError, toError } from '../../errors.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';
import type { StoreIndex, EmbedModel } from '../../schema/wire/wall/graph-start.ts';
import { importExport } from './import-export.ts';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Returns a vector of length one for each text, in their order. */
export type Embed = (texts: string[]) => Promise<number[][]>;

const AT = 'store.index.embed';

/** Loads the embedding: the user's own, or a provider's. */
export async function loadEmbed({ embed: source, dims }: StoreIndex): Promise<Embed> {
  const embed =
    'provider' in source
      ? bindEmbeddings(await loadEmbedModel(source, AT))
      : await importEmbed(source);
  return async (texts) => {
    const vectors = texts.length === 0 ? [] : await embed(texts);
    if (vectors.length !== texts.length || vectors.some((vector) => vector.length !== dims))
      throw new Problem(
        500,
        `store.index: the embedding did not give one vector of ${dims} numbers for each text.`,
      );
    return vectors.map(toUnitVector);
  };
}

const bindEmbeddings = (embeddings: Embeddings): Embed =>
  embeddings.embedDocuments.bind(embeddings);

/** Loads a function from texts to vectors, or an object of LangChain's `Embeddings`. */
async function importEmbed(source: ModuleExport): Promise<Embed> {
  const exported = (await importExport(source, AT)) as Embed | Partial<Embeddings>;
  if (typeof exported === 'function') return exported;
  if (typeof exported.embedDocuments === 'function') return bindEmbeddings(exported as Embeddings);
  throw new StartError(
    `${AT}: "${source.exportName}" of ${source.file} is neither a function nor an Embeddings object.`,
  );
}

/** Returns the vector scaled to length one, so that the product of two is their cosine. */
function toUnitVector(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((number) => number / length);
}

/**
 * Returns the texts of a value that are searched by meaning: at the given paths, else at those of gx.json. `$` is the
 * whole value.
 */
export function pickTexts(
  value: object,
  index: unknown,
  { fields }: { fields: string[] },
): string[] {
  if (index === false) return [];
  const paths = Array.isArray(index) ? (index as string[]) : fields;
  const found = paths.flatMap((place) =>
    place === '$'
      ? [value]
      : pickValues(value, place.replaceAll(/\[(\*|-?\d+)\]/g, '.$1').split('.')),
  );
  return found.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
}

function pickValues(value: unknown, [part, ...rest]: string[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (part === undefined) return [value];
  if (Array.isArray(value))
    return (part === '*' ? (value as unknown[]) : [(value as unknown[]).at(Number(part))]).flatMap(
      (one) => pickValues(one, rest),
    );
  if (typeof value !== 'object') return [];
  return part === '*'
    ? Object.values(value).flatMap((one) => pickValues(one, rest))
    : pickValues((value as Record<string, unknown>)[part], rest);
}

type Embeddings = { embedDocuments(texts: string[]): Promise<number[][]> };

/**
 * Provider -> the package of the project that has its embeddings, and their class there. The providers have the names
 * that LangChain's `init_embeddings` gives them.
 */
const PROVIDERS: Readonly<
  Record<string, readonly [packageName: string, className: string, file?: string]>
> = {
  azure_openai: ['@langchain/openai', 'AzureOpenAIEmbeddings'],
  bedrock: ['@langchain/aws', 'BedrockEmbeddings'],
  cohere: ['@langchain/cohere', 'CohereEmbeddings'],
  google_genai: ['@langchain/google-genai', 'GoogleGenerativeAIEmbeddings'],
  google_vertexai: ['@langchain/google-vertexai', 'VertexAIEmbeddings'],
  huggingface: ['@langchain/community', 'HuggingFaceInferenceEmbeddings', '/embeddings/hf'],
  mistralai: ['@langchain/mistralai', 'MistralAIEmbeddings'],
  ollama: ['@langchain/ollama', 'OllamaEmbeddings'],
  openai: ['@langchain/openai', 'OpenAIEmbeddings'],
};

/**
 * Makes the embedding with the project's own package. Throws a `StartError` that names an unknown provider, a package
 * that is missing, or the package's own error, such as that it has no key.
 */
async function loadEmbedModel(
  { provider, model, folder }: EmbedModel,
  at: string,
): Promise<Embeddings> {
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (known === undefined)
    throw new StartError(
      `${at}: "${provider}" is not a provider of embeddings; known: ${Object.keys(PROVIDERS).join(', ')}, or "./file.ts:export".`,
    );
  const [packageName, className, below = ''] = known;
  const file = resolvePackage(`${packageName}${below}`, folder);
  if (file === undefined)
    throw new StartError(
      `${at}: "${provider}:${model}" needs the package ${packageName}, which the project does not have: npm install ${packageName}`,
    );
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<
      string,
      new (fields: { model: string }) => Embeddings
    >;
    return new module[className]!({ model });
  } catch (thrown) {
    const error = toError(thrown);
    throw new StartError(`${at}: ${className} of ${packageName} can't be made: ${error.message}`, {
      cause: error,
    });
  }
}

function resolvePackage(name: string, folder: string): string | undefined {
  try {
    return createRequire(path.join(folder, 'package.json')).resolve(name);
  } catch {
    return undefined;
  }
}
