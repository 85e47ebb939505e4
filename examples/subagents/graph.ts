import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph, type LangGraphRunnableConfig } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { model } from './model.ts';

type State = typeof MessagesAnnotation.State;

/** A subagent is a graph of its own with its own conversation. To the lead, it is a tool. */
function subagent(name: string, instructions: string) {
  const think = async ({ messages }: State): Promise<Partial<State>> => ({
    messages: [await model.invoke([new SystemMessage(instructions), ...messages])],
  });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('think', think)
    .addEdge('__start__', 'think')
    .addEdge('think', '__end__')
    .compile({ name });
  return tool(
    async ({ question }, config: LangGraphRunnableConfig) => {
      const { messages } = await graph.invoke({ messages: [new HumanMessage(question)] }, config);
      return messages.at(-1)?.text ?? '';
    },
    { name, description: instructions, schema: z.object({ question: z.string() }) },
  );
}

const tools = [
  subagent('researcher', 'You are a researcher. Answer with three facts.'),
  subagent('critic', 'You are a critic. Answer with the strongest doubt.'),
];
const modelWithTools = model.bindTools(tools);
const LEAD = new SystemMessage(
  'You lead a team. Ask your subagents first, then answer in your own words.',
);

async function lead({ messages }: State): Promise<Partial<State>> {
  return { messages: [await modelWithTools.invoke([LEAD, ...messages])] };
}

/** Subagents that are asked together work side by side. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('lead', lead)
  .addNode('tools', new ToolNode(tools))
  .addEdge('__start__', 'lead')
  .addConditionalEdges('lead', toolsCondition, ['tools', '__end__'])
  .addEdge('tools', 'lead')
  .compile();
