import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, interrupt, START, StateGraph } from '@langchain/langgraph';

const Said = Annotation<string[], string[]>({
  reducer: (before, more) => [...before, ...more],
  default: () => [],
});
const State = Annotation.Root({
  pause: Annotation<number>,
  later: Annotation<number | null>,
  said: Said,
});

/** Asks at once, and another question after `later` milliseconds; a step beside them takes `pause` milliseconds. */
export const asking = new StateGraph(State)
  .addNode('ask', () => ({ said: [`which: ${String(interrupt('Which one?'))}`] }))
  .addNode('ask_later', async ({ later }) => {
    if (later === null || later === undefined) return {};
    await wait(later);
    return { said: [`when: ${String(interrupt('And when?'))}`] };
  })
  .addNode('linger', async ({ pause }) => {
    await wait(pause);
    return {};
  })
  .addEdge(START, 'ask')
  .addEdge(START, 'ask_later')
  .addEdge(START, 'linger')
  .compile();
