import { randomBytes, sign, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  createAuthority,
  type Pair,
} from '../../../../../src/operator/database/own/tls/certificate.ts';
import { decideDueParts } from '../../../../../src/operator/database/own/tls/due.ts';
import {
  encodeBits,
  encodeIdentifier,
  encodeSequence,
} from '../../../../../src/operator/database/own/tls/der.ts';
import { createTlsData } from '../../../../../src/operator/database/own/tls/make.ts';

const now = new Date('2026-03-01T10:00:00Z');
const NAMES: [string, ...string[]] = ['chat-db', 'chat-db.agents'];
const authority = createAuthority('chat-db authority', { now, random: randomBytes });

/** Returns the same with another id of its key, as other programs make it. */
function foreign({ certificate, key }: Pair): Pair {
  const { raw } = new X509Certificate(certificate);
  const told = Buffer.from(raw.subarray(4, 8 + raw.readUInt16BE(6)));
  const id = told.indexOf(encodeIdentifier('2.5.29.14')) + 9;
  told.fill(7, id, id + 20);
  const whole = encodeSequence(
    told,
    encodeSequence(encodeIdentifier('1.2.840.10045.4.3.2')),
    encodeBits(sign('sha256', told, key)),
  );
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key,
  };
}

test('a certificate comes with a new authority where clients would not believe ours under the one that is there', () => {
  const other = foreign(authority);
  expect(
    new X509Certificate(other.certificate).verify(
      new X509Certificate(authority.certificate).publicKey,
    ),
  ).toBe(true);
  const found = createTlsData(NAMES, now, other);
  expect(found.authority['ca.crt']).not.toBe(other.certificate);
  expect(decideDueParts(found, { names: NAMES, now }).due).toBe('nothing');
});
