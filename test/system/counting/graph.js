import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ round: Annotation(), milliseconds: Annotation() });

/** Leaves a mark for each time that it is executed, under a key of its own, and takes the time that its input says. */
const marked = (node) => async (state, config) => {
  await config.store.put(['executions', state.round], randomUUID(), { node });
  await wait(state.milliseconds);
  return { round: state.round };
};

export const graph = new StateGraph(State)
  .addNode('first', marked('first'))
  .addNode('second', marked('second'))
  .addEdge('__start__', 'first')
  .addEdge('first', 'second')
  .addEdge('second', '__end__')
  .compile();
