/* Asks the models of the cases by their providers' packages of LangChain, and prints what a callback hears, as JSON. */
import process from 'node:process';
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatBedrockConverse } from '@langchain/aws';
import { InMemoryCache } from '@langchain/core/caches';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { ChatOllama } from '@langchain/ollama';
import { ChatOpenAI, OpenAI } from '@langchain/openai';
import { NodeHttpHandler } from '@smithy/node-http-handler';

const [, , url, text] = process.argv;

const MODELS = {
  'openai-chat': (model, at, { choices, repeated }) =>
    new ChatOpenAI({
      model,
      apiKey: 'key',
      configuration: { baseURL: `${at}/v1` },
      n: choices,
      ...(repeated && { cache: new InMemoryCache() }),
    }),
  'openai-responses': (model, at) =>
    new ChatOpenAI({
      model,
      apiKey: 'key',
      configuration: { baseURL: `${at}/v1` },
      useResponsesApi: true,
    }),
  'openai-completions': (model, at) =>
    new OpenAI({ model, apiKey: 'key', configuration: { baseURL: `${at}/v1` } }),
  anthropic: (model, at) => new ChatAnthropic({ model, apiKey: 'key', anthropicApiUrl: at }),
  gemini: (model, at) => new ChatGoogleGenerativeAI({ model, apiKey: 'key', baseUrl: at }),
  bedrock: (model, at) =>
    new ChatBedrockConverse({
      region: 'us-east-1',
      model,
      client: new BedrockRuntimeClient({
        region: 'us-east-1',
        credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
        endpoint: at,
        requestHandler: new NodeHttpHandler(),
      }),
    }),
  ollama: (model, at) => new ChatOllama({ model, baseUrl: at }),
};

const shorten = ({ generationInfo, message }) => ({
  ...(generationInfo && { generationInfo }),
  ...(message && {
    message: {
      ...(message.usage_metadata && { usage_metadata: message.usage_metadata }),
      response_metadata: message.response_metadata,
    },
  }),
});

async function record(one, index, isStreamed) {
  const model = MODELS[one.api](one.asked ?? one.model, `${url}/${index}`, one);
  let heard;
  const callbacks = [
    {
      handleLLMEnd: (output, _id, _parent, _tags, extra) => {
        heard = {
          output: {
            generations: output.generations.map((some) => some.map(shorten)),
            llmOutput: output.llmOutput,
          },
          ...(extra?.cached && { cached: true }),
        };
      },
    },
  ];
  for (let left = one.repeated ? 2 : 1; left > 0; left -= 1)
    if (isStreamed) for await (const _chunk of await model.stream('Hi', { callbacks }));
    else await model.invoke('Hi', { callbacks });
  return heard;
}

const cases = JSON.parse(text);
for (const { index, streamed, ...one } of cases) {
  const heard = await record(one, index, streamed);
  process.stdout.write(`${JSON.stringify(heard)}\n`);
}
