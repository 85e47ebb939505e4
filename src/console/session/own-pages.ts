import { Forbidden } from '../../errors.ts';
import type { FromPage } from '../../http/callers/client.ts';

/** The header that the console's page sends with each request that may change something. */
export const CONSOLE_HEADER = 'x-gx-console';

const READING = ['GET', 'HEAD'];

/**
 * Throws `Forbidden` unless the console's own page sends the request. Browsers say where a request comes from, in
 * `Sec-Fetch-Site` over https and on their own machine, and in `Origin`; no page can write either. A page of another
 * origin can't send the console's header without asking, and nobody answers it.
 */
export function refuseOtherPages(method: string, from: FromPage): void {
  if (!isFromOwnPage(from))
    throw new Forbidden(
      'Only the page of this console may send this request. Programs send theirs to the control plane, with a key of their own.',
    );
  if (!READING.includes(method) && from.headers[CONSOLE_HEADER] !== '1')
    throw new Forbidden('A request that may change something needs the header X-Gx-Console: 1.');
}

function isFromOwnPage({ headers, forwarded }: FromPage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  return (
    origin !== undefined &&
    URL.canParse(origin) &&
    new URL(origin).host === (forwarded.host ?? host)
  );
}
