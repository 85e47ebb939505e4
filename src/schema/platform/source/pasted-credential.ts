import { createPrivateKey } from 'node:crypto';

/*
 * Credentials as people paste and mount them: with a newline that `echo` added, with line ends of Windows, without the
 * last newline, in one line. REST, the operator, the builder and backups read them here, so that a value means the same
 * at each door.
 */

/** Returns a token, key id or other credential of one line without the space around it. */
export const trimCredential = (text: string): string => text.replace(/^\uFEFF/, '').trim();

/** Returns why a text is no credential of one line, as words behind "is"; undefined if it may be one. */
export const findCredentialFault = (text: string): string | undefined =>
  text === ''
    ? 'empty'
    : /^(["']).*\1$/s.test(text)
      ? 'in quotes: give it without them'
      : undefined;

/** Returns lines with Unix ends, without empty ones, and with a newline behind the last. */
export const toUnixLines = (text: string): string =>
  trimCredential(text)
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('');

/** A block of RFC 7468, or OpenSSH's own of the same form. */
const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g;
/** Characters of a line in a block (RFC 7468, section 2). */
const LINE_CHARACTERS = 64;

/**
 * Returns a text in PEM form as programs take it. Lines may have been joined by spaces, or their ends be written as
 * `\n`. A block with headers (RFC 1421: `Proc-Type`) keeps its lines.
 */
export function toCanonicalPem(text: string): string {
  const lines = text.includes('\n')
    ? text
    : text.replaceAll(String.raw`\r\n`, '\n').replaceAll(String.raw`\n`, '\n');
  const blocks = [...lines.matchAll(BLOCK)].map(([whole, label, body = '']) => {
    if (body.includes(':'))
      return toUnixLines(whole).replace(/^((?:[A-Za-z0-9-]+: .*\n)+)/m, '$1\n');
    const content = body.replace(/\s+/g, '');
    const wrapped = content.match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g')) ?? [];
    return `-----BEGIN ${label}-----\n${wrapped.map((line) => `${line}\n`).join('')}-----END ${label}-----\n`;
  });
  return blocks.length === 0 ? toUnixLines(text) : blocks.join('');
}

const OPENSSH = 'OPENSSH PRIVATE KEY';
/** The beginning of an OpenSSH key, and the name of its cipher behind it (PROTOCOL.key of OpenSSH). */
const OPENSSH_MAGIC = 'openssh-key-v1\0';

/** Returns why a text is no private key that a program can use alone, as words behind "is"; undefined if it is one. */
export function findPrivateKeyFault(text: string): string | undefined {
  const pem = toCanonicalPem(text);
  if (/^(ssh|ecdsa|sk)-[^ ]+ /.test(pem) || pem.includes('PUBLIC KEY-----'))
    return 'a public key: give the private one';
  const label = /^-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----\n/.exec(pem)?.[1];
  if (label === undefined)
    return 'no private key: it must begin with -----BEGIN and end with PRIVATE KEY-----';
  if (label === OPENSSH) return findOpenSshFault(pem);
  if (label.startsWith('ENCRYPTED') || pem.includes('ENCRYPTED\n')) return PASSPHRASE;
  try {
    createPrivateKey(pem);
    return undefined;
  } catch {
    return DAMAGED;
  }
}

const PASSPHRASE = 'a key with a passphrase: give one without, because nobody is there to type it';
const DAMAGED = 'no whole private key: copy all of its lines';

function findOpenSshFault(pem: string): string | undefined {
  const bytes = Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64');
  const at = OPENSSH_MAGIC.length;
  if (bytes.toString('latin1', 0, at) !== OPENSSH_MAGIC || bytes.length < at + 4) return DAMAGED;
  // Texts stand behind their length: cipher, key derivation, its options; after the count of keys the public one and
  // the private one.
  let end = at;
  const readText = (): Buffer | undefined => {
    if (end + 4 > bytes.length) return undefined;
    const start = end + 4;
    end = start + bytes.readUInt32BE(end);
    return end > bytes.length ? undefined : bytes.subarray(start, end);
  };
  const cipher = readText()?.toString('latin1');
  if (cipher === undefined || readText() === undefined || readText() === undefined) return DAMAGED;
  if (cipher !== 'none') return PASSPHRASE;
  end += 4;
  return readText() === undefined || readText() === undefined ? DAMAGED : undefined;
}
