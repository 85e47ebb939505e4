import { randomUUID } from 'node:crypto';
import { SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph, type LangGraphRunnableConfig } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { model } from './model.ts';

type State = typeof MessagesAnnotation.State;

/** Everybody has memories of their own: `config.configurable.user` says whose. */
const memoriesOf = ({ configurable }: LangGraphRunnableConfig): string[] => [
  'memories',
  String(configurable?.['user'] ?? 'me'),
];

const MOST = 100;

/** The server gives each graph its store: what one thread puts there, every other thread finds. */
const remember = tool(
  async ({ fact }, config: LangGraphRunnableConfig) => {
    await config.store?.put(memoriesOf(config), randomUUID(), { fact });
    return 'kept';
  },
  {
    name: 'remember',
    description: 'Keeps a fact about the user for later.',
    schema: z.object({ fact: z.string() }),
  },
);

const tools = [remember];
const modelWithTools = model.bindTools(tools);

async function answer(
  { messages }: State,
  config: LangGraphRunnableConfig,
): Promise<Partial<State>> {
  const known = (await config.store?.search(memoriesOf(config), { limit: MOST })) ?? [];
  const facts = known.map(({ value }) => `- ${String(value['fact'])}`).join('\n');
  const instructions = new SystemMessage(
    `Keep what matters about the user with the tool "remember". You know:\n${facts}`,
  );
  return { messages: [await modelWithTools.invoke([instructions, ...messages])] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addNode('tools', new ToolNode(tools))
  .addEdge('__start__', 'answer')
  .addConditionalEdges('answer', toolsCondition, ['tools', '__end__'])
  .addEdge('tools', 'answer')
  .compile();
