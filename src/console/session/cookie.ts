import type { IncomingHttpHeaders } from 'node:http';
import type { FromPage } from '../../http/callers/client.ts';
import { isLoopbackName } from '../../http/outgoing/loopback.ts';

/** A cookie that holds a session: its name, and whether browsers send it over https alone. */
export type SessionCookie = { name: string; isSecure: boolean };

/**
 * Browsers take a cookie of this name only over https, from this very host and for all of its paths, so that no
 * neighbouring host can plant a session of its own.
 */
const OVER_HTTPS: SessionCookie = { name: '__Host-gx-console', isSecure: true };

/**
 * Returns the cookie for the page that sent the request; undefined where keys would cross a network in the clear. A
 * page names its own origin as it signs in, whatever the proxies in front do.
 */
export function chooseCookie({ headers, forwarded }: FromPage): SessionCookie | undefined {
  const { origin, host = '' } = headers;
  const page = origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined;
  if (page?.protocol === 'https:' || (page === undefined && forwarded.protocol === 'https'))
    return OVER_HTTPS;
  const name = page?.hostname ?? parseHostname(host);
  return isLoopbackName(name) ? buildLocalCookie(host) : undefined;
}

/** A browser sends a machine's cookies to all of its ports, so that of each port has a name of its own. */
const buildLocalCookie = (host: string): SessionCookie => ({
  name: `gx-console-${/:(\d{1,5})$/.exec(host)?.[1] ?? '80'}`,
  isSecure: false,
});

const parseHostname = (host: string): string =>
  URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';

/** Returns the cookie that a request has, and its value. One without https counts only on this machine. */
export function readCookie({
  cookie = '',
  host = '',
}: IncomingHttpHeaders): (SessionCookie & { value: string }) | undefined {
  const sent = new Map(
    cookie
      .split(';')
      .map((pair) => [pair.split('=')[0]?.trim() ?? '', pair.slice(pair.indexOf('=') + 1).trim()]),
  );
  const known = [
    OVER_HTTPS,
    ...(isLoopbackName(parseHostname(host)) ? [buildLocalCookie(host)] : []),
  ];
  for (const one of known) {
    const value = sent.get(one.name);
    if (value !== undefined && value !== '') return { ...one, value };
  }
  return undefined;
}

/** Returns the header that gives the browser the cookie for so many seconds; 0 takes it away. */
export const setCookie = (
  { name, isSecure }: SessionCookie,
  value: string,
  seconds: number,
): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
