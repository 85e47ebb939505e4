import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import ssh2 from 'ssh2';
import {
  findPrivateKeyFault,
  toUnixLines,
  toCanonicalPem,
  trimCredential,
} from '../../src/schema/platform/source/pasted-credential.ts';
import { buildCredentialData } from '../../src/control-plane/git/resource.ts';

/* Keys and tokens as people paste them. The keys are made by others' programs: Node's and ssh2. */

const openSsh = ssh2.utils.generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const KEYS: [string, string][] = [
  ['ed25519 of OpenSSH', openSsh.private],
  ['ecdsa of OpenSSH', ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 }).private],
  ['RSA in PKCS 1', String(rsa.export({ type: 'pkcs1', format: 'pem' }))],
  ['RSA in PKCS 8', String(rsa.export({ type: 'pkcs8', format: 'pem' }))],
  [
    'EC in SEC 1',
    String(
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'sec1',
        format: 'pem',
      }),
    ),
  ],
];

const PASTED: [string, (key: string) => string][] = [
  ['as it was written', (key) => key],
  ['without its last newline', (key) => key.trimEnd()],
  ['with line ends of Windows', (key) => key.replaceAll('\n', '\r\n')],
  ['behind a blank line', (key) => `\n \n${key}\n\n`],
  ['indented', (key) => key.replaceAll(/^/gm, '    ')],
  ['in one line of a form', (key) => key.trimEnd().replaceAll('\n', ' ')],
  ['with its newlines written out', (key) => key.replaceAll('\n', String.raw`\n`)],
  ['in quotes', (key) => `"${key.trimEnd()}"\n`],
  ['behind a byte order mark', (key) => `\uFEFF${key}`],
];

describe.each(KEYS)('a key %s', (_kind, key) => {
  test.each(PASTED)('is read %s', (_form, paste) => {
    const pem = toCanonicalPem(paste(key));
    expect(findPrivateKeyFault(paste(key))).toBeUndefined();
    expect(pem).toMatch(/^-----BEGIN [A-Z ]+-----\n[\s\S]*\n-----END [A-Z ]+-----\n$/);
    expect(readByOthers(pem)).toEqual(readByOthers(key));
  });
});
const readByOthers = (pem: string): unknown =>
  pem.includes('OPENSSH')
    ? ssh2.utils.parseKey(pem)
    : createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });

const half = (key: string): string => {
  const lines = key.trimEnd().split('\n');
  return [...lines.slice(0, 2), lines.at(-1)].join('\n');
};

test.each([
  ['a public key', openSsh.public, 'a public key'],
  ['a token', 'ghp_abc', 'no private key'],
  ['half of a key of OpenSSH', half(openSsh.private), 'no whole private key'],
  ['half of an RSA key', half(KEYS[2]![1]), 'no whole private key'],
  [
    'a key of OpenSSH with a passphrase',
    ssh2.utils.generateKeyPairSync('ed25519', { passphrase: 'x', cipher: 'aes256-ctr', rounds: 1 })
      .private,
    'passphrase',
  ],
  [
    'a key in PKCS 8 with a passphrase',
    String(rsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })),
    'passphrase',
  ],
  [
    'a key in PKCS 1 with a passphrase',
    String(rsa.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })),
    'passphrase',
  ],
])('%s is refused with its reason', (_what, text, words) => {
  expect(findPrivateKeyFault(text)).toContain(words);
});

test('tokens lose what echo and Windows put around them, and known_hosts keeps its lines', () => {
  expect(trimCredential('\uFEFFghp_abc\r\n')).toBe('ghp_abc');
  expect(toUnixLines('a ssh-ed25519 AAAA\r\n\r\nb ssh-rsa BBBB')).toBe(
    'a ssh-ed25519 AAAA\nb ssh-rsa BBBB\n',
  );
});

test('a request stores its credential as programs read it, and names the field of one that none can read', () => {
  expect(
    buildCredentialData({ ssh_private_key: openSsh.private.trimEnd(), known_hosts: 'h k' }),
  ).toEqual({
    data: { 'ssh-privatekey': toCanonicalPem(openSsh.private), known_hosts: 'h k\n' },
  });
  expect(buildCredentialData({ token: 'abc\n' })).toEqual({ data: { token: 'abc' } });
  expect(buildCredentialData({ token: ' \n' })).toEqual({ problem: 'credential.token: is empty' });
  expect(buildCredentialData({ token: `'abc'\n` })).toEqual({
    problem: 'credential.token: is in quotes: give it without them',
  });
  expect(buildCredentialData({ ssh_private_key: openSsh.public, known_hosts: 'h k' })).toEqual({
    problem: 'credential.ssh_private_key: is a public key: give the private one',
  });
  expect(
    buildCredentialData({ app_id: '1', app_installation_id: '2', private_key: 'x' }),
  ).toMatchObject({
    problem: expect.stringMatching(/^credential\.private_key: is no private key/),
  });
});
