import {
  createPrivateKey,
  generateKeyPairSync,
  hash,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import {
  encodeBits,
  encodeField,
  encodeIdentifier,
  encodeInteger,
  encodeOctets,
  encodeSequence,
  encodeSet,
  encodeUtf8String,
  encodeTime,
  encodeTrue,
} from './der.ts';

/** Both in PEM. */
export type Pair = { certificate: string; key: string };

/** Milliseconds. */
const DAY = 86_400_000;
const AUTHORITY_LIFE = 3650 * DAY;
/**
 * The life of a certificate, which is cert-manager's default. It is renewed after two thirds of its life, so an
 * operator may be away for 30 days before anybody notices.
 */
export const LIFE = 90 * DAY;
/** A certificate is valid from some time before it was made, because the clocks of nodes differ. */
const SKEW = 3_600_000;

const OID = {
  ecdsaWithSha256: encodeIdentifier('1.2.840.10045.4.3.2'),
  commonName: encodeIdentifier('2.5.4.3'),
  subjectKey: encodeIdentifier('2.5.29.14'),
  keyUsage: encodeIdentifier('2.5.29.15'),
  alternativeName: encodeIdentifier('2.5.29.17'),
  basicConstraints: encodeIdentifier('2.5.29.19'),
  authorityKey: encodeIdentifier('2.5.29.35'),
  extendedKeyUsage: encodeIdentifier('2.5.29.37'),
  serverAuthentication: encodeIdentifier('1.3.6.1.5.5.7.3.1'),
  clientAuthentication: encodeIdentifier('1.3.6.1.5.5.7.3.2'),
};

const algorithm = encodeSequence(OID.ecdsaWithSha256);
const encodeName = (name: string): Buffer =>
  encodeSequence(encodeSet(encodeSequence(OID.commonName, encodeUtf8String(name))));
const encodeExtension = (id: Buffer, content: Buffer, isCritical = false): Buffer =>
  encodeSequence(id, ...(isCritical ? [encodeTrue()] : []), encodeOctets(content));
/**
 * Encodes a key as SubjectPublicKeyInfo of this curve (RFC 5480); OpenSSL's own encoder takes longer than making the
 * key.
 */
function encodePublicKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return encodeSequence(
    OF_CURVE,
    encodeBits(
      Buffer.concat([UNCOMPRESSED, Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]),
    ),
  );
}
const CURVE = 'prime256v1';
const OF_CURVE = encodeSequence(
  encodeIdentifier('1.2.840.10045.2.1'),
  encodeIdentifier('1.2.840.10045.3.1.7'),
);
const UNCOMPRESSED = Buffer.from([4]);
const hashPublicKey = (publicKey: Buffer): Buffer =>
  hash('sha256', publicKey, 'buffer').subarray(0, 20);

const OF_AUTHORITIES = [
  encodeExtension(OID.basicConstraints, encodeSequence(encodeTrue(), encodeInteger(0)), true),
  // keyCertSign, cRLSign
  encodeExtension(OID.keyUsage, encodeBits(Buffer.from([0b0000_0110]), 1), true),
];
const OF_SERVERS = [
  // digitalSignature
  encodeExtension(OID.keyUsage, encodeBits(Buffer.from([0b1000_0000]), 7), true),
  // Jobs show it to the server of pgBackRest beside the database.
  encodeExtension(
    OID.extendedKeyUsage,
    encodeSequence(OID.serverAuthentication, OID.clientAuthentication),
  ),
];

/** Makes a key. Its public half is encoded. */
function createKey(): { publicKey: Buffer; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: CURVE });
  return { publicKey: encodePublicKey(publicKey), privateKey };
}

type Signer = { name: string; id: Buffer; key: KeyObject };

/** The signers of authorities made here, so that they sign their first certificate without being parsed again. */
// oxlint-disable-next-line house/module-state -- parsed certificates, each kept as long as the certificate is
const signers = new WeakMap<Pair, Signer>();

function read({ certificate: pem, key }: Pair): Signer {
  const { subject, publicKey } = new X509Certificate(pem);
  return {
    name: subject.replace(/^CN=/, ''),
    id: hashPublicKey(encodePublicKey(publicKey)),
    key: createPrivateKey(key),
  };
}

/**
 * Makes an authority that signs the certificates of one database. Nothing below it may sign. `name` has at most 64
 * characters.
 */
export function createAuthority(name: string, making: Issuance): Pair {
  const { publicKey, privateKey } = createKey();
  const signer = { name, id: hashPublicKey(publicKey), key: privateKey };
  const extensions = [...OF_AUTHORITIES, encodeExtension(OID.subjectKey, encodeOctets(signer.id))];
  const made = {
    certificate: signCertificate(
      { subject: name, publicKey, extensions, life: AUTHORITY_LIFE },
      signer,
      making,
    ),
    key: encodePem(privateKey),
  };
  signers.set(made, signer);
  return made;
}

/**
 * Makes a certificate with a key of its own for a server of these names. The first (64 characters at most) is its
 * subject.
 */
export function createCertificate(
  authority: Pair,
  names: [string, ...string[]],
  making: Issuance,
): Pair & { until: Date } {
  const { publicKey, privateKey } = createKey();
  const signer = signers.get(authority) ?? read(authority);
  const extensions = [
    ...OF_SERVERS,
    encodeExtension(
      OID.alternativeName,
      encodeSequence(...names.map((name) => encodeField(2, Buffer.from(name), false))),
    ),
    encodeExtension(OID.subjectKey, encodeOctets(hashPublicKey(publicKey))),
    encodeExtension(OID.authorityKey, encodeSequence(encodeField(0, signer.id, false))),
  ];
  const signed = signCertificate(
    { subject: names[0], publicKey, extensions, life: LIFE },
    signer,
    making,
  );
  return {
    certificate: signed,
    key: encodePem(privateKey),
    until: new Date(making.now.getTime() + LIFE),
  };
}

/** The time of making, and the source of random bytes. */
export type Issuance = { now: Date; random: (bytes: number) => Buffer };
/** Makes a certificate of version 3 of RFC 5280. */
function signCertificate(
  {
    subject,
    publicKey,
    extensions,
    life,
  }: { subject: string; publicKey: Buffer; extensions: Buffer[]; life: number },
  signer: Signer,
  { now, random }: Issuance,
): string {
  const [first = 0, ...rest] = random(16);
  const content = encodeSequence(
    encodeField(0, encodeInteger(2)),
    // The serial number must be neither negative nor short.
    encodeInteger((first & 0x7f) | 0x40, ...rest),
    algorithm,
    encodeName(signer.name),
    encodeSequence(
      encodeTime(new Date(now.getTime() - SKEW)),
      encodeTime(new Date(now.getTime() + life)),
    ),
    encodeName(subject),
    publicKey,
    encodeField(3, encodeSequence(...extensions)),
  );
  const whole = encodeSequence(content, algorithm, encodeBits(sign('sha256', content, signer.key)));
  return `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

const encodePem = (key: KeyObject): string =>
  key.export({ type: 'pkcs8', format: 'pem' }) as string;
