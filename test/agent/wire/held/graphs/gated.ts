import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  gate: Annotation<string>(),
  seen: Annotation<string[]>({ reducer: (one, more) => [...one, ...more], default: () => [] }),
});

/** Whoever leaves `enter`, by a run or by hand, waits until the file exists that `gate` names. */
async function opened({ gate }: typeof State.State): Promise<'leave'> {
  const isClosed = (): boolean => gate !== '' && !existsSync(gate);
  while (isClosed()) await wait(20);
  return 'leave';
}

export const graph = new StateGraph(State)
  .addNode('enter', () => ({ gate: '', seen: ['entered'] }))
  .addNode('leave', ({ seen }) => ({ seen: [`${seen.length} before`] }))
  .addEdge(START, 'enter')
  .addConditionalEdges('enter', opened)
  .addEdge('leave', END);
