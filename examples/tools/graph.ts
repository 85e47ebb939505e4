import { randomInt } from 'node:crypto';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { model } from './model.ts';

type State = typeof MessagesAnnotation.State;

const WEATHER: Record<string, string> = {
  paris: 'sunny, 22 °C',
  london: 'rain, 14 °C',
  oslo: 'snow, -3 °C',
};

const weather = tool(
  ({ city }) => WEATHER[city.toLowerCase()] ?? `There is no report for ${city}.`,
  {
    name: 'weather',
    description: 'The weather of today in a city.',
    schema: z.object({ city: z.string() }),
  },
);

const rollDice = tool(({ sides }) => String(randomInt(1, sides + 1)), {
  name: 'roll_dice',
  description: 'Rolls one dice.',
  schema: z.object({ sides: z.number().int().min(2) }),
});

const tools = [weather, rollDice];
const modelWithTools = model.bindTools(tools);

async function answer({ messages }: State): Promise<Partial<State>> {
  return { messages: [await modelWithTools.invoke(messages)] };
}

/** The model speaks, its tools answer, and it speaks again, until it asks for no more tools. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addNode('tools', new ToolNode(tools))
  .addEdge('__start__', 'answer')
  .addConditionalEdges('answer', toolsCondition, ['tools', '__end__'])
  .addEdge('tools', 'answer')
  .compile();
