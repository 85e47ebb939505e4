import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  left: Annotation(),
  pause: Annotation(),
  journal: Annotation(),
  done: Annotation({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** Counts down one step at a time. Each step waits, and writes a line to the journal if the input names one. */
export const graph = new StateGraph(State)
  .addNode('step', async ({ left, pause = 0, journal }, config) => {
    await wait(pause);
    if (journal) appendFileSync(journal, `${left}\n`);
    config.writer?.({ left });
    return { left: left - 1, done: 1 };
  })
  .addEdge(START, 'step')
  .addConditionalEdges('step', ({ left }) => (left > 0 ? 'step' : END))
  .compile();
