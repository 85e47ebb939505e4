import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { A2aPackage } from './package.ts';

type Refusing = { errors: A2aPackage['errors']; log: Log };

/** Returns the protocol's error for what went wrong. Failures of ours keep their words to the log. */
export function taskRefusal(error: unknown, { errors, log }: Refusing): Error {
  if (error instanceof errors.A2AError) return error;
  if (!(error instanceof Problem) || (error.status >= 500 && error.status !== 503)) {
    log.error({ err: error }, 'a request of A2A failed');
    return new errors.A2AError('Internal error');
  }
  const { status, message } = error;
  if (status === 415) return new errors.ContentTypeNotSupportedError(message);
  if (status === 409) return new errors.UnsupportedOperationError(message);
  return [400, 403, 404, 422].includes(status) ? new errors.RequestMalformedError(message) : new errors.A2AError(message);
}
