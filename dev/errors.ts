/**
 * A failure that the person at the terminal is told about in one sentence. The class says what to do about it.
 * A plain `Error` is a bug, and is shown with its stack.
 */
export class DevError extends Error {
  override name = 'DevError';
}

/** The program was called with words that it does not know; the sentence names those that it knows. Exit code 2. */
export class UsageError extends DevError {
  override name = 'UsageError';
}

/** This machine lacks something; the sentence says what to install. */
export class MissingRequirement extends DevError {
  override name = 'MissingRequirement';
}

/** A program that was started ended badly; the message holds what it said. */
export class CommandFailed extends DevError {
  override name = 'CommandFailed';
}

/** What was waited for did not come in time. */
export class TimedOut extends DevError {
  override name = 'TimedOut';
}

/** A cluster, a platform or an agent that was started here does not do what it should. */
export class Unhealthy extends DevError {
  override name = 'Unhealthy';
}
