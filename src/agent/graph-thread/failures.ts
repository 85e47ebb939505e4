import { limitText, Problem } from '../../errors.ts';
import { describeThrown } from '../kernel/failure-place.ts';

/* This file says what a graph thread reports of whatever was thrown. */

/** Characters of an error's name. */
const LONGEST_NAME = 100;

/** Returns the answer to a call that failed: an HTTP status for whose fault it was, and a sentence for the client. */
export function toCallFailure(thrown: unknown): { status: number; message: string } {
  try {
    if (thrown instanceof Problem) return { status: thrown.status, message: thrown.message };
    if (isOfTheCaller(thrown)) return { status: 400, message: describeThrown(thrown).message };
  } catch {
    // The graph threw an object that refuses to be looked at.
  }
  // Clients see the same of a run that fails.
  const { error, message } = describeThrown(thrown);
  return { status: 500, message: `${limitText(error, LONGEST_NAME)}: ${message}` };
}

/**
 * LangGraph's errors for values and nodes that a graph does not take. Names identify them, because the user's graph
 * brings its own classes.
 */
const NAMES = new Set(['InvalidUpdateError', 'EmptyInputError']);

/** Codes of LangGraph's and LangChain's errors for the same, and for a message that is not one. */
const CODES = new Set([
  'MESSAGE_COERCION_FAILURE',
  'INVALID_CONCURRENT_GRAPH_UPDATE',
  'INVALID_GRAPH_NODE_RETURN_VALUE',
]);

/** Sentences that LangGraph throws as plain errors when a caller wrote something impossible. */
const SENTENCES =
  /^(Attempting to delete a message with an ID that doesn't exist|Expected cmd\.update|In Command\.send, expected|Input chunk must)/;

function isOfTheCaller(thrown: unknown): boolean {
  const { name, message, lc_error_code: code } = Object(thrown) as Record<string, unknown>;
  return NAMES.has(String(name)) || CODES.has(String(code)) || SENTENCES.test(String(message));
}
