const isField = (one: unknown): one is { loc: readonly unknown[]; msg: string } =>
  typeof one === 'object' && one !== null && 'msg' in one && 'loc' in one;

/** Returns the sentence of a refused request: that of the server, or one by its status. */
export function describeRefusal(status: number, body: unknown): string {
  const detail =
    typeof body === 'object' && body !== null && 'detail' in body ? body.detail : undefined;
  if (typeof detail === 'string' && detail !== '') return detail;
  if (Array.isArray(detail)) {
    const fields = detail
      .filter(isField)
      .map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
    if (fields.length > 0) return fields.join('; ');
  }
  return describeStatus(status);
}

function describeStatus(status: number): string {
  if (status === 401) return 'The session has ended.';
  if (status === 403) return 'This key may not do that.';
  if (status === 404) return 'It does not exist, or no longer.';
  if (status === 429) return 'There were too many requests. Try again in a minute.';
  if (status >= 500)
    return `The control plane does not answer as it should (${status}). Try again in a moment.`;
  return `The request was refused (${status}).`;
}

const ENDINGS: Record<string, string> = {
  ended: 'Your session has ended, because it was not used for hours. Sign in again.',
  revoked:
    'Your session has ended, because its API key is no longer valid. Sign in with another one.',
  signed_out: 'You have signed out.',
};

/** Returns the sentence that says why a session ended. Undefined for one that has not begun. */
export const describeEnding = (reason: string | undefined): string | undefined =>
  reason === undefined ? undefined : (ENDINGS[reason] ?? 'Your session has ended. Sign in again.');
