import { Annotation, END, START, StateGraph, type Runtime } from '@langchain/langgraph';
import { z } from 'zod';

const State = Annotation.Root({ seen: Annotation<Record<string, unknown>>() });
const Context = z.object({ model: z.string().optional(), tone: z.string().optional() });

type Config = Runtime & {
  configurable?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  maxConcurrency?: number;
  timeout?: number;
};

const plain = (given: Record<string, unknown> = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('__')));

/** Shows the configuration of its call. */
export const graph = new StateGraph(State, Context)
  .addNode('look', (_, config) => {
    const { configurable, metadata, context, maxConcurrency, timeout } =
      config as unknown as Config;
    return {
      seen: {
        configurable: plain(configurable),
        metadata: plain(metadata),
        context,
        maxConcurrency,
        timeout,
      },
    };
  })
  .addEdge(START, 'look')
  .addEdge('look', END)
  .compile();
