import { expect } from 'vitest';
import type { ShelfProject } from './table.ts';

/** Returns what must be seen of a project; `refusal` are the words with which it ends before it serves, if it does. */
export function expectedSight(
  { graphs, talks }: ShelfProject,
  refusal: RegExp | undefined,
): object {
  if (refusal !== undefined) return { refusal: expect.stringMatching(refusal) };
  return {
    looks: graphs.map((graph) => ({ graph, faults: [] })),
    talks: talks.map(({ runs }) => runs.map(([, values]) => ({ values }))),
    warnings: { unexpected: [], missing: [] },
  };
}
