import { parseJsonOr } from '../../../schema/json.ts';

/** A question that a graph asked, and waits for the answer to. */
export type AskedQuestion = { id: string; value: unknown };

/** Returns the meaning of an answer in text: people write into one field a value that a graph may want as an object. */
export function answerMeant(answer: string): unknown {
  return /^\s*(?:[{[]|(?:true|false)\s*$)/.test(answer) ? parseJsonOr(answer, answer) : answer;
}
