/*
 * Which addresses and references of repositories are taken. Git would also read some as options, as commands (`ext::`)
 * or as folders of its own machine.
 */

const HOST = String.raw`[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?`;
const PORT = '(:[0-9]{1,5})?';
/** Segments of a path: none begins with a dash, which programs take for an option. */
const PATH = String.raw`(/(?!-)[A-Za-z0-9._~+%@-]+)+/?`;

const HTTPS = new RegExp(`^https://${HOST}${PORT}${PATH}$`);
const HTTP = new RegExp(`^http://${HOST}${PORT}${PATH}$`);
const SSH = new RegExp(`^ssh://([A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?${HOST}${PORT}${PATH}$`);
/** `git@host:owner/name`, which git takes for ssh. */
const SCP = new RegExp(
  String.raw`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@${HOST}:(?!-)(?![0-9]+/)[A-Za-z0-9._~+%-]+(/(?!-)[A-Za-z0-9._~+%-]+)*$`,
);

const LONGEST_URL = 2048;

/** Returns the fault of a repository's address, as a sentence; undefined when it can be cloned. */
export function gitUrlFault(url: string, { insecure = false }: { insecure?: boolean } = {}): string | undefined {
  if (url.length > LONGEST_URL) return `the address has more than ${LONGEST_URL} characters`;
  if (/^https?:\/\/[^/]*@/.test(url)) return 'the address holds a credential; give it to an integration instead';
  if (url.split('/').includes('..')) return 'the path of the address goes up ("..")';
  if (HTTPS.test(url) || SSH.test(url) || SCP.test(url)) return undefined;
  if (HTTP.test(url)) return insecure ? undefined : 'plain http shows the credential to everybody on the way; use https';
  return 'the address must begin with https:// or ssh://, or have the form git@host:owner/name';
}

const LONGEST_REF = 255;

/**
 * Returns the fault of a branch's bare name or a tag's full one (`refs/tags/...`), as a sentence; undefined when it has
 * none. These are the rules of git-check-ref-format, and no name begins with a dash.
 */
export function gitRefFault(ref: string): string | undefined {
  if (ref === '' || ref.length > LONGEST_REF) return `a reference has 1 to ${LONGEST_REF} characters`;
  if (ref.startsWith('-')) return 'a reference does not begin with "-"';
  if (ref.startsWith('refs/') && !ref.startsWith('refs/tags/')) return 'a branch is given by its bare name, a tag as refs/tags/...';
  const segments = ref.split('/');
  if (segments.some((segment) => segment === '' || segment.startsWith('.') || segment.endsWith('.lock')))
    return 'no part of a reference is empty, begins with "." or ends with ".lock"';
  // oxlint-disable-next-line no-control-regex -- git forbids control characters in references
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\.$/.test(ref) || ref === '@')
    return 'a reference has no spaces, "..", "@{" or any of ~^:?*[\\';
  return undefined;
}

/** A commit's full name, by SHA-1 or SHA-256. */
export const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
