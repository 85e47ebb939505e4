import { Annotation, interrupt, START, StateGraph, type Runtime } from '@langchain/langgraph';
import { z } from 'zod';

/* Graphs that read their context, whose fields have defaults, or must be given, or are not described. */

const State = Annotation.Root({
  said: Annotation<string>(),
  messages: Annotation<unknown[]>(),
  first: Annotation<unknown>(),
  second: Annotation<unknown>(),
});

const Style = z.object({
  tone: z.string().default('calm'),
  length: z.number().default(4),
  nested: z.object({ deep: z.boolean() }).optional(),
});
const Named = z.object({ user_id: z.string(), tone: z.string().default('calm') });

type Read = (state: unknown, runtime: Runtime<Record<string, unknown>>) => Record<string, unknown>;

const asked: Read = (_, { context }) => ({ first: { ...context } });
const answered: Read = (_, { context }) => {
  interrupt('go?');
  return { second: { ...context } };
};

const reading = (context?: z.ZodObject) =>
  new StateGraph(State, context)
    .addNode('ask', asked as never)
    .addNode('answer', answered as never)
    .addEdge(START, 'ask')
    .addEdge('ask', 'answer');

export const styled = reading(Style).compile();
export const named = reading(Named).compile();
export const plain = reading().compile();

/** Is made for each call. */
export const made = (): unknown => reading(Style).compile();
