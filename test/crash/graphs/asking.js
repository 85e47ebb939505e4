import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

/* A graph that asks a model as often as its input says, each time in a step of its own. */

/** Writes each answer into a file, with its run, before anybody else hears of it. */
class Noted extends BaseChatModel {
  constructor(asked) {
    super({ maxRetries: 0 });
    this.asked = asked;
  }
  _llmType() {
    return 'noted';
  }
  async _generate() {
    const { pause, file, run } = this.asked;
    await wait(pause);
    appendFileSync(file, `${run}\n`);
    const usage_metadata = { input_tokens: 3, output_tokens: 1, total_tokens: 4 };
    const message = new AIMessage({ content: 'yes', usage_metadata });
    return { generations: [{ text: 'yes', message }] };
  }
}

const State = Annotation.Root({
  left: Annotation(),
  pause: Annotation(),
  file: Annotation(),
});

async function ask({ left, pause, file }, config) {
  await new Noted({ pause, file, run: config.configurable.run_id }).invoke('', config);
  return { left: left - 1 };
}

const goOn = ({ left }) => (left > 0 ? 'ask' : END);

export const graph = new StateGraph(State)
  .addNode('ask', ask)
  .addEdge(START, 'ask')
  .addConditionalEdges('ask', goOn)
  .compile();
