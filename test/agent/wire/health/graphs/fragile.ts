import { existsSync, writeFileSync } from 'node:fs';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const file = process.env['BROKEN_WHILE_THERE'] ?? '';
if (existsSync(file)) throw new Error('this graph can not be loaded');

const State = Annotation.Root({ ended: Annotation<boolean>() });

/** Its first attempt ends its thread, and leaves behind what keeps the graphs from being loaded again. */
export const graph = new StateGraph(State)
  .addNode('breaks', (_state, config) => {
    const { metadata } = config as unknown as { metadata: { run_attempt: number } };
    if (metadata.run_attempt !== 1) return { ended: true };
    writeFileSync(file, '');
    return (process as unknown as { reallyExit(code: number): never }).reallyExit(1);
  })
  .addEdge(START, 'breaks')
  .addEdge('breaks', END)
  .compile();
