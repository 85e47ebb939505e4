import { randomBytes } from 'node:crypto';
import { createAuthority, createCertificate, type Pair } from './certificate.ts';
import { decideDueParts, type AuthorityData, type StoredTls, type TlsData } from './due.ts';

/** The wanted data of the two Secrets, and until when the certificate is valid. */
export type RenewedTls = { authority: AuthorityData; server: TlsData; until: Date };
type Names = [string, ...string[]];

/** Returns the wanted data of the Secrets, and keeps the usable part of the data found in them. */
export function renewTlsData(found: StoredTls, names: Names, now: Date): RenewedTls {
  const due = decideDueParts(found, { names, now });
  if (due.due === 'all') return createTlsData(names, now);
  if (due.due === 'certificate') return createTlsData(names, now, due.authority);
  const { 'tls.crt': certificate = '', 'tls.key': key = '' } = found.server;
  return { ...buildTlsData(due.authority, { certificate, key }), until: due.until };
}

/**
 * Makes a certificate for a server of these names, signed by the existing authority or by a new one. A new one is also
 * made if the old one can't sign here, because its key is of another kind or its name has several parts.
 */
export function createTlsData(names: Names, now: Date, existing?: Pair): RenewedTls {
  const given = { now, random: randomBytes };
  const signer = existing ?? createAuthority(`${names[0]} authority`, given);
  const { until, ...server } = createCertificate(signer, names, given);
  const data = buildTlsData(signer, server);
  const isSound = existing === undefined || decideDueParts(data, { names, now }).due === 'nothing';
  return isSound ? { ...data, until } : createTlsData(names, now);
}

const buildTlsData = (
  authority: Pair,
  server: Pair,
): { authority: AuthorityData; server: TlsData } => ({
  authority: { 'ca.crt': authority.certificate, 'ca.key': authority.key },
  server: { 'ca.crt': authority.certificate, 'tls.crt': server.certificate, 'tls.key': server.key },
});
