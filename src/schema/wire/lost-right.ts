/** The data of the last event of an agent's stream whose credentials have ended. */
export const LOST_RIGHT = {
  error: 'Unauthorized',
  message: 'The credentials of this stream are no longer valid.',
} as const;

/** The message of a wait that ended like that, in place of the run's result. */
export const LOST_WAIT = 'The credentials of this request are no longer valid.';
