import type { CallToolResult } from '@modelcontextprotocol/server';
import { isUnfinished, type RunError, type RunStatus } from '../../schema/run.ts';
import type { AskedQuestion } from '../runs/asked.ts';
import type { JsonText } from '../threads/json-text.ts';
import { parsed } from '../threads/json-text.ts';

type Json = Record<string, unknown>;

/** How a run ended, as MCP tells it apart. */
export type Ended =
  | { kind: 'failed'; error: RunError }
  | { kind: 'asks'; state: Json; questions: AskedQuestion[] }
  | { kind: 'done'; state: Json; text: JsonText };

const STOPPING: RunError = { error: 'Unavailable', message: 'The server stopped before the run ended; call the tool again.' };
const STOPPED: RunError = { error: 'Interrupted', message: 'The run was stopped before its end.' };

/** Reads the final state of a run (see `finalState` of `runs`). */
export function endedAs(text: JsonText, status: RunStatus | undefined): Ended {
  if (status !== undefined && isUnfinished(status)) return { kind: 'failed', error: STOPPING };
  const whole = parsed(text);
  // The state of some graphs is no object, but a tool's result has to be one.
  const state = (typeof whole === 'object' && whole !== null && !Array.isArray(whole) ? whole : { value: whole }) as Json;
  if (state['__error__'] !== undefined) return { kind: 'failed', error: state['__error__'] as RunError };
  if (status !== 'success') return { kind: 'failed', error: STOPPED };
  const asked = (state['__interrupt__'] ?? []) as Partial<AskedQuestion>[];
  const questions = asked.flatMap(({ id, value }) => (id === undefined ? [] : [{ id, value }]));
  return questions.length > 0 ? { kind: 'asks', state, questions } : { kind: 'done', state, text };
}

export const failedResult = (message: string): CallToolResult => ({ content: [{ type: 'text', text: message }], isError: true });

/** Returns the state as text for a model to read, and as it is for programs. */
export const stateResult = (state: Json, text = JSON.stringify(state)): CallToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent: state,
  isError: false,
});
