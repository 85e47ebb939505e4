import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, StateGraph } from '@langchain/langgraph';

const listed = { reducer: (before, after) => [...before, ...after], default: () => [] };
/** `by` lists the revisions that have executed the steps so far. */
const State = Annotation.Root({
  round: Annotation(),
  milliseconds: Annotation(),
  by: Annotation(listed),
});

/** Pods are named after their revision: `chat-00001-queue-…`. */
const [revision] = /^.*-\d{5}(?=-)/.exec(hostname()) ?? [hostname()];

const kept = [];
/** Ways in which a new version may be worse, by the name that FAULT has. */
const faults = {
  errors: () => {
    if (Math.random() < 0.2) throw new Error('a fifth of the runs fail');
  },
  slow: (milliseconds) => wait(4 * milliseconds),
  stuck: () => new Promise(() => setInterval(() => undefined, 1000)),
  memory: () => kept.push(Buffer.alloc(30_000_000, 1)),
};
const fault = faults[process.env.FAULT] ?? (() => undefined);

/** Leaves a mark for each time that it is executed, under a key of its own, and takes the time that its input says. */
const marked = (node) => async (state, config) => {
  await config.store.put(['executions', state.round], randomUUID(), { node, revision });
  await wait(state.milliseconds);
  // The run of a gate shows no fault, so that one is found by the runs after it.
  if (node === 'second' && state.round !== 'gate') await fault(state.milliseconds);
  return { by: [revision] };
};

export const graph = new StateGraph(State)
  .addNode('first', marked('first'))
  .addNode('second', marked('second'))
  .addEdge('__start__', 'first')
  .addEdge('first', 'second')
  .addEdge('second', '__end__')
  .compile();
