import { Annotation, StateGraph } from '@langchain/langgraph';
import ms from 'ms';
import { WORD } from './word.js';

const State = Annotation.Root({ said: Annotation });

/* It says what its source holds, by a package that its repository's lock file names. */
export const graph = new StateGraph(State)
  .addNode('speak', () => ({ said: `${WORD} ${ms('1m')}` }))
  .addEdge('__start__', 'speak')
  .addEdge('speak', '__end__')
  .compile();
