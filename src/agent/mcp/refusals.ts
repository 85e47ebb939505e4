import type { ProtocolError } from '@modelcontextprotocol/server';
import { Problem } from '../../errors.ts';
import { RPC_CODES } from '../../http/json-rpc.ts';
import type { Log } from '../../log.ts';

/** What is needed to refuse: the package's class of errors, and the log for failures of ours. */
type Refusing = { ProtocolError: typeof ProtocolError; log: Log };

/** Returns the error that tells a client why its call was refused. Failures of ours keep their words to the log. */
export function refusalOfCall(error: unknown, { ProtocolError: Refused, log }: Refusing): ProtocolError {
  if (error instanceof Refused) return error;
  if (error instanceof Problem && (error.status < 500 || error.status === 503))
    return new Refused([400, 403, 404, 409, 410, 422].includes(error.status) ? RPC_CODES.invalidParams : RPC_CODES.internal, error.message);
  log.error({ err: error }, 'a call of a tool failed');
  return new Refused(RPC_CODES.internal, 'Internal error');
}
