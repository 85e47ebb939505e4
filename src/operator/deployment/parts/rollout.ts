import type { Part } from '../part.ts';

/** The revisions that keep their work although another one serves. */
export const rollout: Part = {
  keeps: ['rollout'],
  report: ({ rollout: { status, statements, again } }) => ({
    ...(status !== undefined && { status: { rollout: status } }),
    statements,
    again: [again],
  }),
};
