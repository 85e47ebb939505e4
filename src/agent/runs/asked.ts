/** A question that a graph asked, and waits for the answer to. */
export type AskedQuestion = { id: string; value: unknown };

/** Returns what an answer in text means: people write into one field what a graph may want as an object. */
export function answerMeant(answer: string): unknown {
  if (!/^\s*(?:[{[]|(?:true|false)\s*$)/.test(answer)) return answer;
  try {
    return JSON.parse(answer);
  } catch {
    return answer;
  }
}
