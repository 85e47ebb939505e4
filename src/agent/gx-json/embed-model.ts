import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { asError, StartError } from '../../errors.ts';
import type { EmbedModel } from '../../schema/wire/wall/graph-start.ts';

/** An object of LangChain's `Embeddings`. */
export type Embeddings = { embedDocuments(texts: string[]): Promise<number[][]> };

/**
 * Provider -> the package of the project that has its embeddings, and their class there. The providers have the names
 * that LangChain's `init_embeddings` gives them.
 */
const PROVIDERS: Readonly<Record<string, readonly [packageName: string, className: string, file?: string]>> = {
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
export async function loadEmbedModel({ provider, model, folder }: EmbedModel, at: string): Promise<Embeddings> {
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (known === undefined)
    throw new StartError(
      `${at}: "${provider}" is no provider of embeddings; known: ${Object.keys(PROVIDERS).join(', ')}, or "./file.ts:export".`,
    );
  const [packageName, className, below = ''] = known;
  const file = resolved(`${packageName}${below}`, folder);
  if (file === undefined)
    throw new StartError(
      `${at}: "${provider}:${model}" needs the package ${packageName}, which the project does not have: npm install ${packageName}`,
    );
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, new (fields: { model: string }) => Embeddings>;
    return new module[className]!({ model });
  } catch (thrown) {
    const error = asError(thrown);
    throw new StartError(`${at}: ${className} of ${packageName} can't be made: ${error.message}`, { cause: error });
  }
}

/** Returns the file of a package as the project finds it. */
function resolved(name: string, folder: string): string | undefined {
  try {
    return createRequire(path.join(folder, 'package.json')).resolve(name);
  } catch {
    return undefined;
  }
}
