import { setTimeout as wait } from 'node:timers/promises';
import {
  Annotation,
  interrupt,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

/* The graphs of runner.py, on LangGraph. */

const State = Annotation.Root({
  question: Annotation<string>(),
  answer: Annotation<string>(),
  events: Annotation<number>(),
  streamed: Annotation<number>(),
  pause: Annotation<number>(),
  to: Annotation<number>(),
  done: Annotation<number>(),
  colour: Annotation<string>(),
  key: Annotation<string>(),
  value: Annotation<string>(),
  read: Annotation<string>(),
});
type Values = typeof State.State;
type Step = (
  state: Values,
  config: LangGraphRunnableConfig,
) => Partial<Values> | Promise<Partial<Values>>;

const oneStep = (name: string, step: Step) =>
  new StateGraph(State)
    .addNode(name, step)
    .addEdge('__start__', name)
    .addEdge(name, '__end__')
    .compile();

const answer: Step = ({ question }) => ({ answer: `echo: ${question}` });

export const echo = oneStep('echo', answer);

export const stream = oneStep('stream', ({ events }, { writer }) => {
  for (let number = 0; number < events; number += 1) writer?.({ number, text: 'Grüße, 世界' });
  return { streamed: events };
});

export const count = new StateGraph(State)
  .addNode('count', async ({ done = 0, pause }: Values, { writer }: LangGraphRunnableConfig) => {
    await wait(pause * 1000);
    writer?.({ done: done + 1, pid: process.pid });
    return { done: done + 1 };
  })
  .addEdge('__start__', 'count')
  .addConditionalEdges('count', ({ done, to }) => (done < to ? 'count' : '__end__'))
  .compile();

export const ask = new StateGraph(State)
  .addNode('ask', () => ({ colour: interrupt<string, string>('Which colour?') }))
  .addNode('echo', answer)
  .addEdge('__start__', 'ask')
  .addEdge('ask', 'echo')
  .addEdge('echo', '__end__')
  .compile();

export const remember = oneStep('remember', async ({ key, value }, { store }) => {
  await store!.put(['python'], key, { secret: value });
  return { read: (await store!.get(['python'], key))!.value['secret'] as string };
});

/** Sends a request to the server itself. */
async function request(path: string, init?: RequestInit): Promise<Response> {
  const ask = (globalThis as unknown as Record<symbol, typeof fetch>)[
    Symbol.for('langgraph_api:fetch')
  ]!;
  return ask(`http://localhost${path}`, {
    ...init,
    headers: { 'content-type': 'application/json' },
  });
}

export const inside = oneStep('inside', async ({ key, value }) => {
  await request('/store/items', {
    method: 'PUT',
    body: JSON.stringify({ namespace: ['inside'], key, value: { text: value } }),
  });
  const item = (await (await request(`/store/items?namespace=inside&key=${key}`)).json()) as {
    value: { text: string };
  };
  return { read: item.value.text };
});

export const fail = oneStep('fail', () => {
  throw new TypeError('The step fails.');
});

export const stick = oneStep('stick', () => {
  for (;;) if (Date.now() === 0) return {};
});
