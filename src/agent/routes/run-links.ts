import type { Request } from '../../http/route.ts';

/** The part of a request that says under which path its client reaches this server. */
type AskedBelow = Pick<Request, 'forwarded'>;

/**
 * Returns the headers that tell where a run is, and where its answer is read again, by their paths below this server's
 * address. `below`: the path before all others of the server.
 */
export function runLinks(
  { forwarded }: AskedBelow,
  below: string,
  { run, again }: { run: string; again?: string },
): Record<string, string> {
  // A trusted proxy names the path that it has taken from the request.
  const prefix = (forwarded.prefix ?? '') + below;
  return { 'content-location': prefix + run, ...(again !== undefined && { location: `${leaving(prefix)}${prefix}${again}` }) };
}

/**
 * Returns the way out of a prefix. The official clients append `Location` to the address that they were given, which
 * ends with the prefix, and everybody else resolves it against the host. With this way before it, both arrive at the
 * same path.
 */
const leaving = (prefix: string): string => '/..'.repeat(prefix.split('/').length - 1);
