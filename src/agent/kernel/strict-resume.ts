import type { RunCreate } from '../../schema/agent/run.ts';
import { isObject } from '../../schema/json.ts';

/** The questions that a strict resume answers: those that it names, or the only one that waits. */
export type StrictAnswer = { ids: string[] } | 'the only one';

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

/** Returns whether the questions that an answer is for are among those that wait. */
export const isAnswerAwaited = (answer: StrictAnswer, waiting: readonly string[]): boolean =>
  answer === 'the only one'
    ? waiting.length === 1
    : answer.ids.length > 0 && answer.ids.every((id) => waiting.includes(id));
