import { STATUS_CODES } from 'node:http';
import { Invalid, Problem } from '../../errors.ts';

/** How a server words a 422: as a list in FastAPI's form (control plane), or as one sentence (agent server). */
export type InvalidStyle = 'list' | 'sentence';

/** Turns any thrown value into an HTTP answer, and nothing else does. A 500 never shows its message. */
export function buildErrorReply(
  thrown: unknown,
  style: InvalidStyle,
): { status: number; headers: Record<string, string>; body: { detail: unknown } } {
  if (thrown instanceof Invalid && style === 'list')
    return { status: 422, headers: {}, body: { detail: thrown.fields } };
  if (thrown instanceof Problem)
    return { status: thrown.status, headers: thrown.headers, body: { detail: thrown.message } };
  return { status: 500, headers: {}, body: { detail: 'Internal Server Error' } };
}

/** True when the failure is ours and belongs in the log with its stack. */
export function isFault(thrown: unknown): boolean {
  return !(thrown instanceof Problem) || thrown.status >= 500;
}

/** Returns the word for a refusal, such as `Conflict` or `TooManyRequests`; undefined for a failure of ours. */
export function getRefusalReason(thrown: unknown): string | undefined {
  if (!(thrown instanceof Problem) || thrown.status >= 500) return undefined;
  return (STATUS_CODES[thrown.status] ?? 'Other').replaceAll(/[^A-Za-z]/g, '');
}
