/**
 * A failure that is reported to the person at the terminal in one sentence. The class says what to do about it. A plain
 * `Error` is a bug, and is shown with its stack.
 */
export class DevError extends Error {
  override name = 'DevError';
}

/** The program was called with arguments that it does not know. The sentence names those that it knows. Exit code 2. */
export class UsageError extends DevError {
  override name = 'UsageError';
}

/** This machine lacks something. The sentence says what to install. */
export class MissingRequirement extends DevError {
  override name = 'MissingRequirement';
}

/** A program that was started failed. The message holds its output. */
export class CommandFailed extends DevError {
  override name = 'CommandFailed';
}

/** An expected event did not happen in time. */
export class TimedOut extends DevError {
  override name = 'TimedOut';
}

/** A cluster, a platform or an agent that was started here does not work as it should. */
export class Unhealthy extends DevError {
  override name = 'Unhealthy';
}
