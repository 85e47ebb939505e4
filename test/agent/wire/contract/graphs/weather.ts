import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const Weather = Annotation.Root({
  question: Annotation<string>(),
  city: Annotation<string>(),
  answer: Annotation<string>(),
});
const State = Annotation.Root({ question: Annotation<string>(), answer: Annotation<string>() });

const weather = new StateGraph(Weather)
  .addNode('model_node', () => ({ city: 'San Francisco' }))
  .addNode('weather_node', ({ city }) => ({ answer: `It is sunny in ${city}.` }))
  .addEdge(START, 'model_node')
  .addEdge('model_node', 'weather_node')
  .addEdge('weather_node', END)
  .compile({ interruptBefore: ['weather_node'] });

const region = new StateGraph(State)
  .addNode('weather', weather)
  .addEdge(START, 'weather')
  .addEdge('weather', END)
  .compile();

/** Stops two graphs down, before the weather of a city is told. */
export const graph = new StateGraph(State)
  .addNode('region', region)
  .addEdge(START, 'region')
  .addEdge('region', END)
  .compile();
