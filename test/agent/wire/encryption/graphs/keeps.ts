import process from 'node:process';
import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  note: Annotation<string>(),
  bytes: Annotation<Uint8Array>(),
  left: Annotation<number>(),
  asks: Annotation<boolean>(),
  fails: Annotation<boolean>(),
  answer: Annotation<string>(),
  key: Annotation<string>(),
});

/** Passes what it is given through every place in which a graph can leave it. */
export const graph = new StateGraph(State)
  .addNode('keep', async ({ note }, config) => {
    config.writer?.({ note });
    await config.store?.put(['notes'], 'of-graph', { note });
    const key = process.env['GX_AES_KEY'] ?? 'not seen';
    return {
      messages: [new AIMessage(`noted: ${note}`)],
      bytes: new TextEncoder().encode(note),
      key,
    };
  })
  .addNode('ask', ({ note, asks }) =>
    asks ? { answer: interrupt({ question: `May I keep ${note}?` }) as string } : {},
  )
  .addNode('count', ({ left = 0, fails, note }) => {
    if (fails) throw new Error(`can't keep ${note}`);
    return { left: left - 1 };
  })
  .addEdge(START, 'keep')
  .addEdge('keep', 'ask')
  .addEdge('ask', 'count')
  .addConditionalEdges('count', ({ left }) => (left > 0 ? 'count' : END))
  .compile();
