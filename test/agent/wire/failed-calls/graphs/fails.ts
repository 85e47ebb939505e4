import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  count: Annotation<number>({
    reducer: (_, given) => {
      if (given > 10) throw new TypeError('the reducer is broken');
      return given;
    },
    default: () => 0,
  }),
});

/** Takes small numbers, and fails in its own code on larger ones. */
export const graph = new StateGraph(State)
  .addNode('step', () => ({ count: 1 }))
  .addEdge(START, 'step')
  .addEdge('step', END)
  .compile();

/** Has a node, and sends and stores nothing, as graphs of a LangGraph that a server does not know do. */
export const idle = Object.assign(
  new StateGraph(State)
    .addNode('step', () => ({ count: 1 }))
    .addEdge(START, 'step')
    .compile(),
  { stream: () => new ReadableStream({ start: (controller) => controller.close() }) },
);

const cook = (): never => {
  throw new RangeError('the stove is off', { cause: new Error('no gas') });
};

/** Fails in a node. */
export const throws = new StateGraph(State).addNode('cook', cook).addEdge(START, 'cook').compile();

/** Fails to make its graph. */
export const unmade = (): never => {
  throw new RangeError('no graph today');
};

/** Throws an object that nobody may look at. */
export const hostile = (): never => {
  const refuse = (): never => {
    throw new Error('do not touch');
  };
  // oxlint-disable-next-line typescript/only-throw-error -- that is what it is here for
  throw new Proxy({}, { get: refuse, getPrototypeOf: refuse, ownKeys: refuse });
};
