import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  seats: Annotation<number>(),
});

const ask = (question: string) => () => ({ said: [interrupt<string, string>(question)] });

const inner = new StateGraph(State)
  .addNode('think', () => ({ said: ['thought'] }))
  .addNode('first', ask('First?'))
  .addNode('second', ask('Second?'))
  .addEdge(START, 'think')
  .addEdge('think', 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

/** Asks twice, in a graph below it. */
export const below = new StateGraph(State)
  .addNode('begin', () => ({ said: ['begun'] }))
  .addNode('inner', async ({ seats }) => ({ said: (await inner.invoke({ said: [], seats })).said }))
  .addEdge(START, 'begin')
  .addEdge('begin', 'inner')
  .addEdge('inner', END)
  .compile();

/** Asks two things at once. */
export const both = new StateGraph(State)
  .addNode('left', ask('Left?'))
  .addNode('right', ask('Right?'))
  .addEdge(START, 'left')
  .addEdge(START, 'right')
  .addEdge('left', END)
  .addEdge('right', END)
  .compile();

/** Brings its own form, with a name. */
export const form = new StateGraph(State)
  .addNode('order', () =>
    interrupt<unknown, { seats: number }>({
      name: 'table',
      message: 'How many seats?',
      requestedSchema: {
        type: 'object',
        properties: { seats: { type: 'integer' } },
        required: ['seats'],
      },
    }),
  )
  .addEdge(START, 'order')
  .addEdge('order', END)
  .compile();

/** Stops on the way without a question. */
export const paused = new StateGraph(State)
  .addNode('one', () => ({ said: ['one'] }))
  .addNode('two', () => ({ said: ['two'] }))
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', END)
  .compile({ interruptBefore: ['two'] });
