import { appendFileSync, existsSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { AIMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';

const PAUSE = 200;

const write = (journal, line) =>
  appendFileSync(journal, `${JSON.stringify({ pid: process.pid, at: Date.now(), ...line })}\n`);

const Count = Annotation.Root({
  journal: Annotation(),
  gate: Annotation(),
  done: Annotation({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** Counts its steps, and records each as it begins, until the file `gate` is there. */
const countingBuilder = () =>
  new StateGraph(Count)
    .addNode('step', async ({ journal, done }, { configurable, writer }) => {
      write(journal, { run: configurable.run_id, step: done });
      writer?.({ step: done });
      await wait(PAUSE);
      return { done: 1 };
    })
    .addEdge(START, 'step')
    .addConditionalEdges('step', ({ gate }) => (existsSync(gate) ? END : 'step'));

export const counting = countingBuilder().compile();

/** The same within a node. */
export const nested = new StateGraph(Count)
  .addNode('inner', countingBuilder().compile())
  .addEdge(START, 'inner')
  .compile();

/** The same as an older LangGraph would run it, whose loop looks at no control. */
export const older = {
  nodes: counting.nodes,
  stream: (input, config) => counting.stream(input, config),
  getState: (...given) => counting.getState(...given),
};

/** Waits until it is told to stop, and records when that was. */
const waiting = tool(
  async ({ journal }, { configurable, signal }) => {
    write(journal, { run: configurable.run_id, says: 'waits' });
    await once(signal, 'abort');
    write(journal, { run: configurable.run_id, says: 'stops' });
    throw signal.reason;
  },
  {
    name: 'waiting',
    description: 'Waits.',
    schema: { type: 'object', properties: { journal: { type: 'string' } }, required: ['journal'] },
  },
);

/** Calls the tool that waits. */
export const calling = new StateGraph(
  Annotation.Root({ ...MessagesAnnotation.spec, journal: Annotation() }),
)
  .addNode('model', ({ journal }) => ({
    messages: [
      new AIMessage({
        content: '',
        tool_calls: [{ id: 'one', name: 'waiting', args: { journal } }],
      }),
    ],
  }))
  .addNode('tools', new ToolNode([waiting]))
  .addEdge(START, 'model')
  .addEdge('model', 'tools')
  .compile();
