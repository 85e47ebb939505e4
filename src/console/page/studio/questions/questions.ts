import { readQuestion, type AskedShape } from '../../../../schema/agent/question-shapes.ts';
import { isObject } from '../../../../schema/json.ts';
import { toItems, toText } from '../agent-answers.ts';

/* The questions of a thread, and the command that answers them. */

export type ThreadQuestion = { id: string; asked: AskedShape };

/** Returns the questions of a state's interrupts. Without an id a question can't be answered by it, and has none. */
export const listThreadQuestions = (interrupts: unknown): ThreadQuestion[] =>
  toItems(interrupts)
    .filter(isObject)
    .map((one) => ({
      id: toText(one['id']) || toText(one['interrupt_id']),
      asked: readQuestion({ ...one, value: one['value'] }),
    }));

/**
 * Returns the answers as a run takes them: by the ids of the questions, so that each reaches its own. Questions without
 * an id are answered one at a time.
 */
export const resumeWith = (answers: readonly { id: string; answer: unknown }[]): unknown =>
  answers.every(({ id }) => id !== '')
    ? Object.fromEntries(answers.map(({ id, answer }) => [id, answer]))
    : answers[0]?.answer;
