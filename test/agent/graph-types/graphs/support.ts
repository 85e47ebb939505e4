import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

type Ticket = { id: number; kind: 'bug' | 'wish'; note?: string };

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  topic: Annotation<string>(),
  /** Those that are not done. */
  tickets: Annotation<Ticket[]>({
    reducer: (left, right) => left.concat(right),
    default: () => [],
  }),
});
const Output = Annotation.Root({ tickets: Annotation<Ticket[]>() });
const Context = Annotation.Root({
  model: Annotation<'small' | 'large'>(),
  tone: Annotation<string | undefined>(),
});

const Depth = Annotation.Root({ topic: Annotation<string>(), depth: Annotation<number>() });
const deepest = new StateGraph(Depth)
  .addNode('end', () => ({ depth: 2 }))
  .addEdge(START, 'end')
  .compile();
const deeper = new StateGraph(Depth)
  .addNode('deepest', deepest)
  .addEdge(START, 'deepest')
  .compile();

export const builder = new StateGraph({ stateSchema: State, output: Output }, Context)
  .addNode('read', () => ({ tickets: [] }))
  .addNode('dig', deeper)
  .addNode('ask', async ({ topic }) => ({ topic: (await deepest.invoke({ topic })).topic }), {
    subgraphs: [deepest],
  })
  .addEdge(START, 'read')
  .addEdge('read', 'dig')
  .addEdge('dig', 'ask')
  .addEdge('ask', END);

export const graph = builder.compile();

export const make = async () => builder.compile();
