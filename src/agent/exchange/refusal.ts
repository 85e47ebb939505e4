import { buildErrorReply } from '../../http/routes/error-body.ts';
import type { Refusal } from '../../schema/wire/wall/exchange.ts';

/** Returns whatever was thrown as a client would hear it. */
export function toExchangeRefusal(thrown: unknown): Refusal {
  const { status, headers, body } = buildErrorReply(thrown, 'sentence');
  return { status, message: String(body.detail), headers };
}
