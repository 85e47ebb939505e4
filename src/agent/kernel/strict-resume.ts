import type { RunCreate } from '../../schema/agent/run.ts';
import { isObject } from '../../schema/json.ts';

/**
 * The state in which a thread takes an answer: the questions that it names wait, or only one does, or the thread has
 * had so many runs as when it was read.
 */
export type StrictAnswer = { ids: string[] } | { runs: number } | 'the only one';

/** An id that LangGraph gives a question. */
const QUESTION = /^[0-9a-f]{32}$/i;

/** Returns the questions that a run must find waiting; undefined for one that does not ask for that. */
export function readStrictAnswer({
  strict_resume,
  command,
}: Pick<RunCreate, 'strict_resume' | 'command'>): StrictAnswer | undefined {
  const resume = command?.['resume'] ?? null;
  if (strict_resume !== true || resume === null) return undefined;
  const names = isObject(resume) ? Object.keys(resume) : undefined;
  return names?.every((name) => QUESTION.test(name)) === true ? { ids: names } : 'the only one';
}

/** Returns whether a thread waits for an answer, by the questions that wait there and the runs that it has had. */
export function isAnswerAwaited(
  answer: StrictAnswer,
  { waiting, runs }: { waiting: readonly string[]; runs: number },
): boolean {
  if (answer === 'the only one') return waiting.length === 1;
  if ('runs' in answer) return answer.runs === runs;
  return answer.ids.length > 0 && answer.ids.every((id) => waiting.includes(id));
}
