/* The graphs of the benchmark, made with whichever copy of LangGraph the server under test brings. */

type Config = { writer?: (chunk: unknown) => void };
type State = { messages: { content: unknown }[] };
type Builder = {
  addNode(name: string, node: unknown): Builder;
  addEdge(from: string, to: string): Builder;
  compile(): unknown;
};
export type LangGraph = {
  StateGraph: new (state: never) => unknown;
  Annotation: { (options?: unknown): unknown; Root(fields: object): unknown };
  MessagesAnnotation: { spec: object };
};

export const EVENTS = 50;
const now = (): number => performance.timeOrigin + performance.now();

function oneNode(
  { StateGraph, Annotation, MessagesAnnotation }: LangGraph,
  node: unknown,
): unknown {
  const state = Annotation.Root({ ...MessagesAnnotation.spec, started_at: Annotation() });
  const builder = new StateGraph(state as never) as Builder;
  return builder
    .addNode('answer', node)
    .addEdge('__start__', 'answer')
    .addEdge('answer', '__end__')
    .compile();
}

/** One node that repeats what it was told, and says when it was asked. */
export const echo = (langgraph: LangGraph): unknown =>
  oneNode(langgraph, ({ messages }: State) => {
    const started_at = now();
    return {
      started_at,
      messages: [{ role: 'assistant', content: `echo: ${String(messages.at(-1)?.content)}` }],
    };
  });

/** One node that emits 50 custom events. */
export const talk = (langgraph: LangGraph): unknown =>
  oneNode(langgraph, (_state: State, config: Config) => {
    for (let index = 0; index < EVENTS; index += 1)
      config.writer?.({ index, text: 'a part of an answer, a few words long' });
    return { started_at: now() };
  });

type Told = { messages: { content: unknown }[] };

/** One node that emits as many tokens as the message says, with so many milliseconds between two of them: `200 10`. */
export const tokens = (langgraph: LangGraph): unknown =>
  oneNode(langgraph, async ({ messages }: Told, config: Config) => {
    const [count = 0, pause = 0] = String(messages.at(-1)?.content).split(' ').map(Number);
    for (let index = 0; index < count; index += 1) {
      config.writer?.({ index, at: now(), text: 'word' });
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    return { started_at: now() };
  });

/** One node whose state does not grow, however often it runs. */
export const steady = ({ StateGraph, Annotation }: LangGraph): unknown => {
  const builder = new StateGraph(
    Annotation.Root({ question: Annotation(), answer: Annotation() }) as never,
  ) as Builder;
  const answer = ({ question }: { question: unknown }): object => ({
    answer: `echo: ${String(question)}`,
  });
  return builder
    .addNode('answering', answer)
    .addEdge('__start__', 'answering')
    .addEdge('answering', '__end__')
    .compile();
};
