import type { ProtocolError } from '@modelcontextprotocol/server';
import { Problem } from '../../errors.ts';
import type { PlainFailure } from '../../http/route.ts';
import type { Log } from '../../log.ts';

/** Codes of JSON-RPC 2.0, section 5.1. */
const CODES = { parse: -32_700, invalidRequest: -32_600, invalidParams: -32_602, internal: -32_603 } as const;

/** The code for refusals that JSON-RPC has none for; servers choose from -32000 to -32099. */
const REFUSED = -32_000;

/** Words a refusal of the whole request, whose id is not known, as the protocol has it. A 422 is a 400 here. */
export function refusalOfRequest({ status, detail }: PlainFailure): { status: number; body: object } {
  const known = status === 422 ? (detail.includes('Invalid JSON') ? CODES.parse : CODES.invalidRequest) : undefined;
  const code = known ?? (status >= 500 ? CODES.internal : REFUSED);
  return { status: status === 422 ? 400 : status, body: { jsonrpc: '2.0', id: null, error: { code, message: detail } } };
}

/** What is needed to refuse: the package's class of errors, and the log for failures of ours. */
type Refusing = { ProtocolError: typeof ProtocolError; log: Log };

/** Returns the error that tells a client why its call was refused. Failures of ours keep their words to the log. */
export function refusalOfCall(error: unknown, { ProtocolError: Refused, log }: Refusing): ProtocolError {
  if (error instanceof Refused) return error;
  if (error instanceof Problem && (error.status < 500 || error.status === 503))
    return new Refused([400, 403, 404, 409, 422].includes(error.status) ? CODES.invalidParams : CODES.internal, error.message);
  log.error({ err: error }, 'a call of a tool failed');
  return new Refused(CODES.internal, 'Internal error');
}
