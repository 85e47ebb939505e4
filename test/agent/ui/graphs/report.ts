import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import {
  typedUi,
  uiMessageReducer,
  type RemoveUIMessage,
  type UIMessage,
} from '@langchain/langgraph-sdk/react-ui/server';

const State = Annotation.Root({
  city: Annotation<string>(),
  ui: Annotation<UIMessage[], UIMessage | RemoveUIMessage | (UIMessage | RemoveUIMessage)[]>({
    reducer: uiMessageReducer,
    default: () => [],
  }),
});

/** Shows a component instead of words. */
export const graph = new StateGraph(State)
  .addNode('show', ({ city }, config) => {
    const ui = typedUi(config);
    ui.push({ name: 'weather', props: { city } });
    return { ui: ui.items as UIMessage[] };
  })
  .addEdge(START, 'show')
  .addEdge('show', END)
  .compile();
