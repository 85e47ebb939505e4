import type { AskedInterrupt } from '../../../schema/agent/question-shapes.ts';
import { isObject } from '../../../schema/json.ts';

/** A question that a graph asked, and waits for the answer to. */
export type AskedQuestion = { id: string } & AskedInterrupt;

/** Returns the questions of interrupts, such as a thread's or a state's; one without an id can't be answered by it. */
export const listAskedQuestions = (interrupts: readonly unknown[]): AskedQuestion[] =>
  interrupts.flatMap((one) => {
    if (!isObject(one) || typeof one['id'] !== 'string') return [];
    const schema = one['response_schema'] ?? one['responseSchema'];
    const typed = isObject(schema) && { response_schema: schema };
    return [{ id: one['id'], value: one['value'] ?? null, ...typed }];
  });

/** Returns the questions of a thread, as its row has them by task. */
export const listInterruptQuestions = (interrupts: object): AskedQuestion[] =>
  listAskedQuestions(Object.values(interrupts).flat());
