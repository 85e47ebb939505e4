/** Where the requests begin that go on to the control plane. */
export const PASSED = '/console/api/';

/** The parts of the control plane's interface that a page may ask. */
const ASKED = /^\/v[12](?:\/|$)/;
/** Characters of a path that need no escape, and escapes of others. */
const PLAIN = /^[\w.~!$&'()*+,;=:@/%-]*$/;
/** Escapes of a dot, a slash, a backslash and of characters that no name has. */
const HIDING = /%(?:2e|2f|5c|[01][\da-f]|7f)/i;

/**
 * Returns the address at the control plane that a request asks for, with its query; undefined where the path could
 * mean another one to somebody on the way.
 */
export function targetOf(url: string): string | undefined {
  const [path = '', ...query] = url.slice(PASSED.length - 1).split('?');
  const segments = path.split('/').slice(1);
  const isPlain = PLAIN.test(path) && !HIDING.test(path) && !/%(?![\da-f]{2})/i.test(path);
  const stays = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  if (!url.startsWith(PASSED) || !isPlain || !stays || !ASKED.test(path)) return undefined;
  return query.length === 0 ? path : `${path}?${query.join('?')}`;
}
