import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ size: Annotation<string>() });

/** A graph whose node is named by the call. */
export const make = ({ configurable = {} }: { configurable?: Record<string, string> }): object => {
  const { size = 'small' } = configurable;
  return new StateGraph(State)
    .addNode(size, () => ({ size }))
    .addEdge(START, size as '__start__')
    .addEdge(size as '__start__', END);
};
