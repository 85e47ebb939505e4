import { followBranch } from '../follow-branch.ts';
import type { Part } from '../part.ts';

/** The branch that a deployment follows. A commit that is found may ask for a revision. */
export const branch: Part = {
  keeps: ['followedRef', 'followedCommit', 'pushHandled'],
  async step({ writer }, facts, signal) {
    const { revision } = followBranch(facts);
    if (revision !== undefined) await writer.create(revision, signal);
    return {};
  },
  report: followBranch,
};
