import { changed, randomFrom } from './random-changes.ts';

const REQUESTS = 600;

/** What shows the insides of a server. */
const INSIDES = /node_modules|\.ts:\d|\n {4}at |Cannot read|is not a function|Internal error/;

type Call = { method: string; params: object; headers: Record<string, string> };
type Given = {
  /** The requests are the same each time, so that a failure can be repeated. */
  seed: number;
  /** Returns a good call. */
  next: (random: () => number) => Call;
  /** Returns true for the text of an answer in the protocol. */
  isMessage: (text: string) => boolean;
};
type Answer = { status: number; text: string };

/**
 * Sends calls of JSON-RPC in which something was changed at random. Returns all answers, and those that are faults
 * with their calls.
 */
export async function sendChanged(
  url: string,
  { seed, next, isMessage }: Given,
): Promise<{ faults: string[]; answers: Answer[] }> {
  const random = randomFrom(seed);
  const faults: string[] = [];
  const answers: Answer[] = [];
  for (let id = 0; id < REQUESTS; id += 1) {
    const { method, params, headers } = next(random);
    const body = JSON.stringify(changed({ jsonrpc: '2.0', id, method, params }, random));
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const answer = { status: response.status, text: await response.text() };
    answers.push(answer);
    if (answer.status >= 500 || INSIDES.test(answer.text) || !isMessage(answer.text))
      faults.push(`${answer.status} ${answer.text} for ${body}`);
  }
  return { faults, answers };
}
