import { errorReply } from '../../http/error-body.ts';

/** What the other thread hears of a request that failed. */
export type Refusal = { status: number; message: string; headers: Record<string, string> };

/** Returns whatever was thrown as a client would hear it. */
export function exchangeRefusal(thrown: unknown): Refusal {
  const { status, headers, body } = errorReply(thrown, 'sentence');
  return { status, message: String(body.detail), headers };
}
