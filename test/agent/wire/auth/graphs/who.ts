import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  said: Annotation<string>(),
  user: Annotation<unknown>(),
  id: Annotation<unknown>(),
});

/** Says who called it. */
export const graph = new StateGraph(State)
  .addNode('say', (_state, { configurable }) => ({
    user: (configurable as Record<string, unknown>)['langgraph_auth_user'],
    id: (configurable as Record<string, unknown>)['langgraph_auth_user_id'],
  }))
  .addEdge(START, 'say')
  .addEdge('say', END);
