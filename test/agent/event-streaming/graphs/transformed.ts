import {
  Annotation,
  START,
  StateGraph,
  StreamChannel,
  type LangGraphRunnableConfig,
  type StreamTransformer,
} from '@langchain/langgraph';

/* A graph with stream transformers, which turn its events into something of their own. */

const State = Annotation.Root({ left: Annotation<number> });

/** Sends its counts to clients, and at the end their total. What it hears stays in the server. */
function counted(): StreamTransformer<object> {
  const steps = StreamChannel.remote<{ left: number }>('steps');
  const heard = StreamChannel.local<string>();
  const total = Promise.withResolvers<number>();
  let count = 0;
  return {
    init: () => ({ steps, heard, total: total.promise }),
    process: ({ method, params }) => {
      heard.push(method);
      if (method !== 'custom') return true;
      count += 1;
      steps.push({ left: (params.data as { payload: { left: number } }).payload.left });
      return true;
    },
    finalize: () => total.resolve(count),
  };
}

/** Reports that a node has written, but not what. */
function hushed(): StreamTransformer<object> {
  let push: Parameters<NonNullable<StreamTransformer['onRegister']>>[0]['push'] | undefined;
  return {
    init: () => ({}),
    onRegister: (emitter) => {
      push = emitter.push;
    },
    process: (event) => {
      if (event.method !== 'updates') return true;
      const { namespace } = event.params;
      push?.(namespace, {
        ...event,
        method: 'custom:wrote',
        params: { ...event.params, data: { name: 'wrote', payload: true } },
      });
      return false;
    },
  };
}

const builder = new StateGraph(State)
  .addNode('step', ({ left }, config: LangGraphRunnableConfig) => {
    if (left < 1) throw new Error('There is nothing to count.');
    config.writer?.({ left });
    return { left: left - 1 };
  })
  .addEdge(START, 'step')
  .addConditionalEdges('step', ({ left }) => (left > 0 ? 'step' : '__end__'));

export const transformed = builder.compile({ transformers: [counted, hushed] });

/** One of its promises never settles. */
const endless = (): StreamTransformer<object> => ({
  init: () => ({ never: new Promise(() => undefined) }),
  process: () => true,
});

export const unkept = builder.compile({ transformers: [endless, counted] });

const broken = (): StreamTransformer<object> => ({
  init: () => ({}),
  process: () => {
    throw new Error('The transformer is broken.');
  },
  fail: () => {
    throw new Error('It does not bear it.');
  },
});

export const breaking = builder.compile({ transformers: [broken] });
