import { randomBytes, X509Certificate } from 'node:crypto';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import {
  LIFE,
  createAuthority,
  createCertificate,
} from '../../../../../src/operator/database/own/tls/certificate.ts';

const given = { now: new Date('2026-03-01T10:00:00Z'), random: randomBytes };
const NAMES: [string, ...string[]] = [
  'chat-db',
  'chat-db.agents',
  'chat-db.agents.svc.cluster.local',
];
const read = ({ certificate }: { certificate: string }): X509Certificate =>
  new X509Certificate(certificate);

test('an authority may sign, and only servers: it holds for ten years, its number is its own', () => {
  const [one, other] = [
    read(createAuthority('chat-db authority', given)),
    read(createAuthority('chat-db authority', given)),
  ];
  expect(one.ca).toBe(true);
  expect(one.subject).toBe('CN=chat-db authority');
  expect(one.verify(one.publicKey)).toBe(true);
  expect([one.validFromDate, one.validToDate]).toEqual([
    new Date('2026-03-01T09:00:00Z'),
    new Date('2036-02-27T10:00:00Z'),
  ]);
  expect(one.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  expect(one.serialNumber).not.toBe(other.serialNumber);
});

test("a server's certificate is its authority's, for each of its names and for no other", () => {
  const authority = createAuthority('chat-db authority', given);
  const made = createCertificate(authority, NAMES, given);
  const server = read(made);
  expect(server.checkIssued(read(authority))).toBe(true);
  expect(server.verify(read(authority).publicKey)).toBe(true);
  expect(server.verify(read(createAuthority('chat-db authority', given)).publicKey)).toBe(false);
  expect(server.ca).toBe(false);
  expect(server.subjectAltName).toBe(NAMES.map((name) => `DNS:${name}`).join(', '));
  expect(NAMES.map((name) => server.checkHost(name))).toEqual(NAMES);
  expect(server.checkHost('other-db.agents')).toBeUndefined();
  expect(server.validToDate).toEqual(made.until);
  expect(made.until.getTime() - given.now.getTime()).toBe(LIFE);
});

test('an authority that is read again signs as it did when it was made', () => {
  const authority = createAuthority('chat-db authority', given);
  const server = read(createCertificate({ ...authority }, NAMES, given));
  expect(server.checkIssued(read(authority))).toBe(true);
  expect(server.verify(read(authority).publicKey)).toBe(true);
});

test('dates from 2050 on, and names longer than a byte can count, are written as they are read', () => {
  const late = { ...given, now: new Date('2049-12-31T23:00:00Z') };
  const names: [string, ...string[]] = [
    'chat-db',
    ...Array.from({ length: 20 }, (_, index) => `${'long-'.repeat(8)}${index}.agents`),
  ];
  const server = read(createCertificate(createAuthority('chat-db authority', late), names, late));
  expect([server.validFromDate.toISOString(), server.validToDate.toISOString()]).toEqual([
    '2049-12-31T22:00:00.000Z',
    '2050-03-31T23:00:00.000Z',
  ]);
  expect(server.checkHost(names.at(-1) as string)).toBe(names.at(-1));
});

test('a client that knows the authority takes the server for its names alone, and one that knows another does not', async () => {
  const now = { now: new Date(), random: randomBytes };
  const [authority, other] = [
    createAuthority('chat-db authority', now),
    createAuthority('chat-db authority', now),
  ];
  const { certificate: cert, key } = createCertificate(authority, NAMES, now);
  const server = createServer({ cert, key, minVersion: 'TLSv1.3' }, (socket) =>
    socket.on('error', () => undefined).end(),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const meet = async (
    servername: string,
    { certificate }: { certificate: string },
  ): Promise<string> => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', servername, ca: certificate });
    try {
      await once(socket, 'secureConnect');
      return 'met';
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      socket.destroy();
    }
  };
  expect(await meet('chat-db.agents', authority)).toBe('met');
  expect(await meet('else-db.agents', authority)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await meet('chat-db.agents', other)).not.toBe('met');
  server.close();
});
