import { Annotation, START, StateGraph, type LangGraphRunnableConfig } from '@langchain/langgraph';

const State = Annotation.Root({
  texts: Annotation<string[] | undefined>(),
  query: Annotation<string>(),
  found: Annotation<string[]>(),
});

/** Keeps items and finds them by meaning, as `keeps` of searching.py. */
export const keeps = new StateGraph(State)
  .addNode(
    'keep',
    async ({ texts = [], query }: typeof State.State, { store }: LangGraphRunnableConfig) => {
      for (const text of texts) await store!.put(['words'], text, { text });
      return { found: (await store!.search(['words'], { query, limit: 2 })).map(({ key }) => key) };
    },
  )
  .addEdge(START, 'keep')
  .compile();

const WORDS = ['red', 'green', 'blue'];

export const embed = (texts: string[]): Promise<number[][]> =>
  Promise.resolve(texts.map((text) => WORDS.map((word) => text.split(word).length - 1)));
