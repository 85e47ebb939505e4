import { randomBytes } from 'node:crypto';
import { newAuthority, newCertificate } from './certificate.ts';
import { whatIsDue, type Due, type TlsData } from './due.ts';

export type Made = { data: TlsData; until: Date };

/**
 * Makes a certificate for a server of these names, signed by the existing authority or by a new one. A new one is also
 * made if the old one can't sign here, because its key is of another kind or its name has several parts.
 */
export function made(names: [string, ...string[]], now: Date, due?: Exclude<Due, { due: 'nothing' }>): Made {
  const given = { now, random: randomBytes };
  const signer = due?.due === 'certificate' ? due.authority : newAuthority(`${names[0]} authority`, given);
  const { until, ...server } = newCertificate(signer, names, given);
  const data = { 'ca.crt': signer.certificate, 'ca.key': signer.key, 'tls.crt': server.certificate, 'tls.key': server.key };
  const isSound = due?.due !== 'certificate' || whatIsDue(data, { names, now }).due === 'nothing';
  return isSound ? { data, until } : made(names, now);
}
