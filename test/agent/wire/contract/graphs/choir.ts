import { END, START, StateGraph, StateSchema, DeltaValue } from '@langchain/langgraph';
import { z } from 'zod';

/** A channel of which only the writes are stored. Its value is made from them again, so their order counts. */
const State = new StateSchema({
  sung: new DeltaValue(z.array(z.string()), {
    reducer: (sung, parts) => sung.concat(...parts),
    snapshotFrequency: 3,
  }),
});

const VOICES = ['soprano', 'alto', 'tenor', 'bass', 'countertenor', 'treble'];

/** All voices sing in one step, the first ones last. */
const builder = new StateGraph(State);
for (const [at, voice] of VOICES.entries())
  builder
    .addNode(voice, async () => {
      await new Promise((done) => setTimeout(done, 5 * (VOICES.length - at)));
      return { sung: [voice] };
    })
    .addEdge(START, voice as '__start__')
    .addEdge(voice as '__start__', END);

export const graph = builder.compile();
