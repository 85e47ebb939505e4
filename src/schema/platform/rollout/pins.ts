/**
 * How runs keep to the revision on which they began. `Run`: from an input to its end, answers to its questions
 * included. `Thread`: all runs of a thread. `None`: any revision executes any run.
 */
export const PINS = ['Run', 'Thread', 'None'] as const;
export type Pin = (typeof PINS)[number];

/** Whose hash decides which revision a new thread belongs to while a rollout by share is under way. */
export const SHARE_BY = ['thread', 'assistant', 'user'] as const;

/** Revisions of a deployment that have work of their own at most. */
export const MOST_LIVING = 32;
