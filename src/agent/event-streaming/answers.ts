import { limitText } from '../../errors.ts';
import type { Json } from '../../schema/json.ts';

/* Answers to commands of protocol v2. */

/** Characters of a message, which may quote the client's input. */
const LONGEST_MESSAGE = 8000;

/** The codes by which a client can tell what to do about a command that was not carried out. */
type ErrorCode =
  | 'invalid_argument'
  | 'unknown_command'
  | 'unknown_error'
  | 'not_supported'
  | 'no_such_run'
  | 'no_such_interrupt'
  | 'no_such_namespace'
  | 'no_such_subscription'
  | 'resume_gap';

export type CommandAnswer =
  | { type: 'success'; id: number; result: Json; meta: { applied_through_seq: number } }
  | { type: 'error'; id: number | null; error: ErrorCode; message: string };

/** A command that can't be carried out. It gets an answer, and the request does not fail. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Returns the answer to a command that succeeded. `applied_through_seq` is left out, because no client's events are
 * held back until a command has been answered.
 */
export const buildCommandSuccess = (id: number, result: Json): CommandAnswer => ({
  type: 'success',
  id,
  result,
  meta: { applied_through_seq: 0 },
});

/** Returns the answer to a command that failed. `id` is null for an error of the stream itself. */
export const buildCommandFailure = (
  id: number | null,
  { code, message }: { code: ErrorCode; message: string },
): CommandAnswer => ({
  type: 'error',
  id,
  error: code,
  message: limitText(message, LONGEST_MESSAGE),
});

/** Returns the error for a reader that asked for events that are no longer kept. */
export const resumeGap = ({ after, before }: { after: number; before: number }): CommandError =>
  new CommandError(
    'resume_gap',
    `Events after ${after} are no longer kept; those from ${before} on follow.`,
  );
