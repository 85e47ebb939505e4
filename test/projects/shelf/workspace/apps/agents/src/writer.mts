import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { joined } from '@workspace/shared';

const State = Annotation.Root({
  text: Annotation<string>,
  lines: Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
  place: Annotation<string>,
});

const write = async (state: typeof State.State) => ({
  lines: [joined(state.lines.length + 1, state.text)],
  place: process.env['PLACE_OF_WRITING'] ?? 'nowhere',
});

export const graph = new StateGraph(State).addNode('write', write).addEdge(START, 'write').addEdge('write', END).compile();
graph.name = 'Writer';
