import { AIMessage } from '@langchain/core/messages';
import { Annotation, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { typedUi, uiMessageReducer } from '@langchain/langgraph-sdk/react-ui/server';
import type Components from './ui.js';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  ui: Annotation({ reducer: uiMessageReducer, default: () => [] }),
});

export const graph = new StateGraph(State)
  .addNode('show', async (state, config) => {
    const ui = typedUi<typeof Components>(config);
    const message = new AIMessage(`card ${state.ui.length + 1}`);
    ui.push({ name: 'card', props: { title: message.text } }, { message });
    return { messages: [message] };
  })
  .addEdge('__start__', 'show')
  .compile();
