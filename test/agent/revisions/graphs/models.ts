import { InMemoryCache } from '@langchain/core/caches';
import { dispatchCustomEvent } from '@langchain/core/callbacks/dispatch';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { BaseLLM } from '@langchain/core/language_models/llms';
import { AIMessage } from '@langchain/core/messages';
import type { ChatResult, LLMResult } from '@langchain/core/outputs';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const usage_metadata = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };

/** A model that says how many tokens its answers have used. */
class Telling extends BaseChatModel {
  override _llmType(): string {
    return 'telling';
  }
  override _generate(): Promise<ChatResult> {
    return Promise.resolve({
      generations: [
        { text: 'yes', message: Object.assign(new AIMessage('yes'), { usage_metadata }) },
      ],
    });
  }
}

/** One that writes no messages, and tells them beside its text. */
class TellingText extends BaseLLM {
  override _llmType(): string {
    return 'telling-text';
  }
  override _generate(
    _prompts: string[],
    _options: unknown,
    _manager?: CallbackManagerForLLMRun,
  ): Promise<LLMResult> {
    const tokenUsage = { promptTokens: 7, completionTokens: 2, totalTokens: 9 };
    return Promise.resolve({ generations: [[{ text: 'yes' }]], llmOutput: { tokenUsage } });
  }
}

/** One that a provider of the table of prices has. */
class Priced extends Telling {
  override getLsParams(): { ls_provider: string; ls_model_name: string; ls_model_type: 'chat' } {
    return { ls_provider: 'openai', ls_model_name: 'gpt-4.1-2025-04-14', ls_model_type: 'chat' };
  }
}

/** One that fails. */
class Failing extends Telling {
  override _generate(): Promise<ChatResult> {
    return Promise.reject(new Error('The provider is overloaded.'));
  }
}

const models = {
  telling: new Telling({}),
  text: new TellingText({}),
  silent: new FakeListChatModel({ responses: ['yes'] }),
  priced: new Priced({}),
  cached: new Telling({ cache: new InMemoryCache() }),
  failing: new Failing({ maxRetries: 0 }),
};

/** One that no database would take as it is. */
const odd = {
  model: `a\0${'b'.repeat(1000)}`,
  input_tokens: 2 ** 31 - 1,
  total_tokens: 2 ** 31 - 1,
  input_token_details: { cache_read: 2 ** 31 - 1, cache_creation: 2 ** 31 - 1 },
  cost_usd: 1e300,
};

/** The usage of a call that LangChain knows nothing of, as a graph reports it. */
const reported = { model: 'own-model', provider: 'own', input_tokens: 25, output_tokens: 5 };

const State = Annotation.Root({ ask: Annotation<(keyof typeof models | 'own' | 'odd')[]>() });
const inner = new StateGraph(State)
  .addNode('models', async ({ ask }, config) => {
    for (const name of ask)
      if (name === 'own') await dispatchCustomEvent('gx.usage', reported, config);
      else if (name === 'odd') {
        await dispatchCustomEvent('gx.usage', odd, config);
        await models.telling.invoke('Is it?', { ...config, runId: 'an-id-of-its-own' });
      } else if (name === 'failing')
        await models[name].invoke('Is it?', config).catch(() => undefined);
      else await models[name].invoke('Is it?', config);
    return {};
  })
  .addEdge(START, 'models')
  .addEdge('models', END)
  .compile();

/** Asks each of the models that its input names, in a graph within it. */
export const graph = new StateGraph(State)
  .addNode('inner', inner)
  .addEdge(START, 'inner')
  .addEdge('inner', END)
  .compile();
