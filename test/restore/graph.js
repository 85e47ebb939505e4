import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, interrupt, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  round: Annotation(),
  milliseconds: Annotation(),
  answer: Annotation(),
});

/** Leaves a mark for each time that a node is executed, under a key of its own. */
const mark = (node, { round }, config) =>
  config.store.put(['executions', round], randomUUID(), { node, at: new Date().toISOString() });

/** Asks a question, and keeps the answer. */
export const asking = new StateGraph(State)
  .addNode('ask', (state) => ({
    round: state.round,
    answer: interrupt(`What about ${String(state.round)}?`),
  }))
  .addEdge('__start__', 'ask')
  .addEdge('ask', '__end__')
  .compile();

/** Has two steps, of which the second takes the time that its input says. */
export const stepping = new StateGraph(State)
  .addNode('first', async (state, config) => {
    await mark('first', state, config);
    return { round: state.round };
  })
  .addNode('second', async (state, config) => {
    await wait(state.milliseconds);
    await mark('second', state, config);
    return { answer: `${String(state.round)} is over` };
  })
  .addEdge('__start__', 'first')
  .addEdge('first', 'second')
  .addEdge('second', '__end__')
  .compile();
