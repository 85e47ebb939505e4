import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

/** Answers with a message that is made of blocks, as newer models do. */
export const blocks = new StateGraph(MessagesAnnotation)
  .addNode('answer', ({ messages }) => {
    const text = `seen ${messages.map(({ content }) => JSON.stringify(content)).join(' ')}`;
    return {
      messages: [
        new AIMessage({
          contentBlocks: [
            { type: 'text', text },
            { type: 'reasoning', reasoning: 'because' },
          ],
        }),
      ],
    };
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

const Odd = Annotation.Root({
  kind: Annotation<string>,
  many: Annotation<unknown>,
  list: Annotation<unknown[]>,
});

/** Fills a field with a value that has no stored form. */
export const unstored = new StateGraph(Odd)
  .addNode('fill', ({ kind }) =>
    kind === 'list' ? { list: [1, { big: 5n }] } : { many: { map: new Map([['k', 1]]), big: 5n } },
  )
  .addNode('after', () => ({ kind: 'after' }))
  .addEdge(START, 'fill')
  .addEdge('fill', 'after')
  .addEdge('after', END)
  .compile();

const Log = Annotation.Root({
  log: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
});

const inner = new StateGraph(Log)
  .addNode('one', () => ({ log: ['one'] }))
  .addNode('two', () => ({ log: [`two ${String(interrupt('go on?'))}`] }))
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', END)
  .compile();

/** Asks within a subgraph of two steps. */
export const outer = new StateGraph(Log)
  .addNode('inner', inner)
  .addEdge(START, 'inner')
  .addEdge('inner', END)
  .compile();

const Count = Annotation.Root({
  count: Annotation<number>({
    reducer: (_, given) => {
      if (given < 0) throw new RangeError(`count is ${given}, and must not be below 0`);
      return given;
    },
    default: () => 0,
  }),
});

/** Counts, and refuses numbers below 0. */
export const refusing = new StateGraph(Count)
  .addNode('step', ({ count }) => ({ count: count + 1 }))
  .addEdge(START, 'step')
  .addEdge('step', END)
  .compile();

/** The same within a graph. */
export const holding = new StateGraph(Count)
  .addNode('within', refusing)
  .addEdge(START, 'within')
  .addEdge('within', END)
  .compile();

const Seen = Annotation.Root({ seen: Annotation<string> });
type Context = { token?: string; tone?: string };

/** Asks, and tells what it knows of its settings without saying them. */
export const secret = new StateGraph(Seen)
  .addNode('look', (_, { context, configurable = {} }: LangGraphRunnableConfig<Context>) => {
    const { token = '', tone } = context ?? {};
    const answer: unknown = interrupt('go?');
    return { seen: [token.length, tone, String(configurable['token']).length, answer].join(' ') };
  })
  .addEdge(START, 'look')
  .addEdge('look', END)
  .compile();

type Runtime = { accessContext: string; executionRuntime: { context: unknown } | null };

const Made = Annotation.Root({ made: Annotation<unknown> });

/** Makes a graph that tells what its function was told. */
export const made = (_: unknown, { accessContext, executionRuntime }: Runtime): unknown =>
  new StateGraph(Made)
    .addNode('tell', () => ({
      made: { access: accessContext, context: executionRuntime?.context ?? null },
    }))
    .addNode(accessContext.replace('.', '-'), () => ({}))
    .addEdge(START, 'tell')
    .addEdge('tell', accessContext.replace('.', '-') as 'tell')
    .compile();
