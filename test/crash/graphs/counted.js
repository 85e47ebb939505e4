import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  left: Annotation(),
  pause: Annotation(),
  spin: Annotation(),
  journal: Annotation(),
});

/** Counts down, and records each step as it begins. No checkpoint and no database can take this record back. */
export const graph = new StateGraph(State)
  .addNode(
    'step',
    async ({ left, pause = 0, spin = 0, journal }, { configurable, metadata, writer }) => {
      appendFileSync(
        journal,
        `${JSON.stringify({ run: configurable.run_id, attempt: metadata.run_attempt, left, pid: process.pid, at: Date.now() })}\n`,
      );
      writer?.({ left });
      for (const until = Date.now() + spin; Date.now() < until;);
      await wait(pause);
      return { left: left - 1 };
    },
  )
  .addEdge(START, 'step')
  .addConditionalEdges('step', ({ left }) => (left > 0 ? 'step' : END))
  .compile();
