import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import {
  createAgent,
  modelFallbackMiddleware,
  modelRetryMiddleware,
  toolRetryMiddleware,
} from 'langchain';

/** Asks for its tool, and answers behind it, without a network. */
class Local extends BaseChatModel {
  constructor() {
    super({ maxRetries: 0 });
  }
  override _llmType(): string {
    return 'local';
  }
  override bindTools(): this {
    return this;
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const heard = messages.some((message) => message.getType() === 'tool');
    const message = heard
      ? new AIMessage('done')
      : new AIMessage({ content: '', tool_calls: [{ id: 'call-1', name: 'look', args: {} }] });
    return { generations: [{ text: message.text, message }] };
  }
}

const schema = { type: 'object', properties: {} } as const;
const look = tool(async () => 'found', { name: 'look', description: 'Looks.', schema });
/** Asks a model itself. */
const lookByModel = tool(async (_input, config) => String((await new Local().invoke('', config)).content), {
  name: 'look',
  description: 'Looks.',
  schema,
});

const RETRIES = { maxRetries: 3, initialDelayMs: 1 };

export const modelRetry = createAgent({
  model: new Local(),
  tools: [look],
  middleware: [modelRetryMiddleware(RETRIES)],
}).graph;

export const modelFallback = createAgent({
  model: new Local(),
  tools: [look],
  middleware: [modelFallbackMiddleware(new Local(), new Local())],
}).graph;

export const toolRetry = createAgent({
  model: new Local(),
  tools: [lookByModel],
  middleware: [toolRetryMiddleware(RETRIES)],
}).graph;

const tools = async (): Promise<typeof MessagesAnnotation.Update> => ({
  messages: [{ role: 'tool', tool_call_id: 'call-1', content: 'found' }],
});

const build = (ask: (messages: BaseMessage[]) => Promise<BaseMessage>) =>
  new StateGraph(MessagesAnnotation)
    .addNode('first', async ({ messages }) => ({ messages: [await ask(messages)] }))
    .addNode('tools', tools)
    .addNode('second', async ({ messages }) => ({ messages: [await ask(messages)] }))
    .addEdge(START, 'first')
    .addEdge('first', 'tools')
    .addEdge('tools', 'second')
    .addEdge('second', END)
    .compile();

const insisting = new Local().withRetry({ stopAfterAttempt: 3 }).withFallbacks([new Local()]);

export const runnables = build((messages) => insisting.invoke(messages));

export const caught = build(async (messages) => {
  try {
    return await new Local().invoke(messages);
  } catch (error) {
    return new AIMessage(`caught ${String(error)}`);
  }
});
