import type { Part } from '../part.ts';

/** The threads that wait for people. While nothing is reported, as when the deployment sleeps, the last count stays. */
export const people: Part = {
  report: ({ deployment, interrupted }) => {
    const count = interrupted ?? deployment.status?.interruptedThreads;
    return count === undefined ? {} : { status: { interruptedThreads: count } };
  },
};
