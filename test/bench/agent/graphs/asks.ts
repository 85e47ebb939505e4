import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

/* A graph that asks a model without a network, one call after the other, and tells how long each took. */

class Quick extends BaseChatModel {
  override _llmType(): string {
    return 'quick';
  }
  override getLsParams() {
    return {
      ls_provider: 'own',
      ls_model_name: 'quick',
      ls_model_type: 'chat' as const,
      ls_max_tokens: 10,
    };
  }
  override _generate(): Promise<ChatResult> {
    const usage_metadata = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const message = Object.assign(new AIMessage('yes'), { usage_metadata });
    return Promise.resolve({ generations: [{ text: 'yes', message }] });
  }
}

const State = Annotation.Root({ calls: Annotation<number>(), times: Annotation<number[]>() });
const model = new Quick({ maxRetries: 0 });

export const asks = new StateGraph(State)
  .addNode('ask', async ({ calls }, config) => {
    const times: number[] = [];
    for (let call = 0; call < calls; call += 1) {
      const began = performance.now();
      await model.invoke('a question of a few words', config);
      times.push(performance.now() - began);
    }
    return { times };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();
