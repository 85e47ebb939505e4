import { SystemMessage, ToolMessage, type AIMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { tool } from '@langchain/core/tools';
import { Annotation, interrupt, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
import { model } from './model.ts';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  /** The page shows the list, and changes it, too: whoever writes last counts. */
  items: Annotation<string[]>({ reducer: (_, items) => items, default: () => [] }),
});

/** The tools of the page, as it sends them with each run. */
type PageTool = { name: string; description: string; parameters?: Record<string, unknown> };

const readPageTools = ({ configurable }: RunnableConfig): PageTool[] =>
  (configurable?.['ag-ui'] as { tools: PageTool[] } | undefined)?.tools ?? [];

/* The node `act` does what these say, because it changes the state and may ask. */
const addItem = tool(() => '', {
  name: 'add_item',
  description: 'Puts an item on the shopping list.',
  schema: z.object({ item: z.string() }),
});
const order = tool(() => '', {
  name: 'order',
  description: 'Orders all that is on the shopping list.',
  schema: z.object({}),
});

async function answer({ messages, items }: typeof State.State, config: RunnableConfig) {
  const ofPage = readPageTools(config).map(({ name, description, parameters }) => ({
    type: 'function' as const,
    function: { name, description, parameters: parameters ?? { type: 'object', properties: {} } },
  }));
  const task = new SystemMessage(
    `You keep a shopping list. It has: ${items.join(', ') || 'nothing'}.`,
  );
  return {
    messages: [await model.bindTools([addItem, order, ...ofPage]).invoke([task, ...messages])],
  };
}

const readCalls = ({ messages }: typeof State.State) =>
  (messages.at(-1) as AIMessage | undefined)?.tool_calls ?? [];

/** The run ends at the question. The page shows it, also after a reload, and answers it with `resume`. */
const mayOrder = (toolCallId: string, items: string[]): boolean =>
  interrupt<object, { ok: boolean }>({ message: `Order ${items.join(', ')}?`, toolCallId }).ok;

function act(state: typeof State.State) {
  let { items } = state;
  const messages = readCalls(state).flatMap(({ id = '', name, args }) => {
    const tell = (content: string) => [new ToolMessage({ tool_call_id: id, name, content })];
    if (name === addItem.name) {
      items = [...items, String(args['item'])];
      return tell(`${String(args['item'])} is on the list.`);
    }
    if (name !== order.name) return [];
    if (!mayOrder(id, items)) return tell('The order was refused.');
    const ordered = items.join(', ');
    items = [];
    return tell(`ordered ${ordered}.`);
  });
  return { messages, items };
}

const hasOwnCall = (state: typeof State.State): 'act' | '__end__' =>
  readCalls(state).some(({ name }) => name === addItem.name || name === order.name)
    ? 'act'
    : '__end__';

/** Calls of the page's tools are not answered here: the run ends, and the next one brings the answers of the page. */
function isAnswered({ messages }: typeof State.State): 'answer' | '__end__' {
  const open = new Set(
    messages.flatMap((message) => (message as AIMessage).tool_calls ?? []).map(({ id }) => id),
  );
  for (const message of messages) open.delete((message as ToolMessage).tool_call_id);
  return open.size === 0 ? 'answer' : '__end__';
}

export const graph = new StateGraph(State)
  .addNode('answer', answer)
  .addNode('act', act)
  .addEdge('__start__', 'answer')
  .addConditionalEdges('answer', hasOwnCall)
  .addConditionalEdges('act', isAnswered)
  .compile();
