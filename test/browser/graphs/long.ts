import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  step: Annotation<number>,
  steps: Annotation<number>,
  letters: Annotation<number>,
  notes: Annotation<string[]>({
    reducer: (before, more) => [...before, ...more],
    default: () => [],
  }),
  large: Annotation<Record<string, string>>,
});

const LETTERS = 20_000;

/** Goes round so many steps, and then writes a state of so many letters. */
export const long = new StateGraph(State)
  .addNode('walk', ({ step }) => ({
    step: step + 1,
    notes: step % 100 === 0 ? [`at ${step}`] : [],
  }))
  .addNode('swell', ({ letters }) => ({
    large: Object.fromEntries(
      Array.from({ length: Math.ceil(letters / LETTERS) }, (_, at) => [
        `part${at}`,
        'x"\\'.repeat(LETTERS / 4),
      ]),
    ),
  }))
  .addEdge(START, 'walk')
  .addConditionalEdges('walk', ({ step, steps }) => (step < steps ? 'walk' : 'swell'), [
    'walk',
    'swell',
  ])
  .addEdge('swell', END)
  .compile();
