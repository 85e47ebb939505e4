import { tool } from '@langchain/core/tools';
import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';

/* The graphs of the captured streams, in LangGraph.js. */

const Items = Annotation<string[], string[]>({
  reducer: (before, more) => [...before, ...more],
  default: () => [],
});
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  value: Annotation<string>,
  items: Items,
});
const Sub = Annotation.Root({ ...MessagesAnnotation.spec, note: Annotation<string> });

const say = (
  config: LangGraphRunnableConfig,
  step: string,
  phase: string,
  more: object = {},
): void => config.writer?.({ name: 'progress', step, phase, ...more });

const sub = new StateGraph(Sub)
  .addNode('sub', (_, config: LangGraphRunnableConfig) => {
    say(config, 'sub_node', 'start');
    say(config, 'sub_node', 'end');
    return {
      messages: [new AIMessage({ id: 'sub-msg-1', content: 'from subgraph' })],
      note: 'ran',
    };
  })
  .addEdge(START, 'sub')
  .compile();

/** A model that streams, a tool call written by hand, a question, a subgraph called within a node. */
export const approval = new StateGraph(State)
  .addNode('stream_message', async (_, config: LangGraphRunnableConfig) => {
    say(config, 'stream_message', 'start');
    const message = await new FakeListChatModel({ responses: ['Hello, world!'] }).invoke(
      'hi',
      config,
    );
    say(config, 'stream_message', 'end');
    return { messages: [message], value: 'x', items: ['streamed'] };
  })
  .addNode('call_tool', (_, config: LangGraphRunnableConfig) => {
    say(config, 'call_tool', 'start');
    say(config, 'call_tool', 'end');
    const call = { type: 'tool_call' as const, name: 'search', args: { query: 'v3' }, id: 'tc-1' };
    const answer = new ToolMessage({
      content: "result for 'v3'",
      tool_call_id: 'tc-1',
      status: 'success',
    });
    return {
      messages: [new AIMessage({ id: 'ai-msg-2', content: '', tool_calls: [call] }), answer],
      items: ['tool'],
    };
  })
  .addNode('ask_human', (_, config: LangGraphRunnableConfig) => {
    say(config, 'ask_human', 'start');
    const answer = String(interrupt('Are we good?'));
    say(config, 'ask_human', 'end', { answer });
    return {
      messages: [new AIMessage({ id: 'ai-msg-3', content: `Human said: ${answer}` })],
      items: ['asked'],
    };
  })
  .addNode('run_subgraph', async (_, config: LangGraphRunnableConfig) => {
    say(config, 'run_subgraph', 'start');
    const { messages } = (await sub.invoke({ messages: [], note: '' }, config)) as {
      messages: BaseMessage[];
    };
    say(config, 'run_subgraph', 'end');
    return { messages, items: ['sub'] };
  })
  .addEdge(START, 'stream_message')
  .addEdge('stream_message', 'call_tool')
  .addEdge('call_tool', 'ask_human')
  .addEdge('ask_human', 'run_subgraph')
  .compile({ checkpointer: new MemorySaver() });

const search = tool(({ query }) => `result for '${query}'`, {
  name: 'search',
  schema: z.object({ query: z.string() }),
});

/** An agent's two nodes with a tool between them. */
export const tools = new StateGraph(MessagesAnnotation)
  .addNode('agent', () => ({
    messages: [
      new AIMessage({
        id: 'ai-tools-call',
        name: 'v3_tools_agent',
        content: '',
        tool_calls: [{ name: 'search', args: { query: 'v3' }, id: 'tc-1' }],
      }),
    ],
  }))
  .addNode('tools', new ToolNode([search]))
  .addNode('answer', () => ({
    messages: [new AIMessage({ id: 'ai-tools-final', name: 'v3_tools_agent', content: 'Done.' })],
  }))
  .addEdge(START, 'agent')
  .addEdge('agent', 'tools')
  .addEdge('tools', 'answer')
  .compile({ checkpointer: new MemorySaver() });

const Count = Annotation.Root({
  left: Annotation<number>,
  pause: Annotation<number>,
  texts: Items,
});

/** Counts down one number per step, with a pause before each. */
export const counter = new StateGraph(Count)
  .addNode('count', async ({ left, pause }, config: LangGraphRunnableConfig) => {
    if (left < 1) throw new Error('There is nothing to count.');
    config.writer?.({ name: 'count', payload: left });
    await new Promise((resolve) => setTimeout(resolve, pause));
    return { left: left - 1, texts: [String(left)] };
  })
  .addEdge(START, 'count')
  .addConditionalEdges('count', ({ left }) => (left > 0 ? 'count' : '__end__'))
  .compile();
