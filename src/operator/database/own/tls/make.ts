import { randomBytes } from 'node:crypto';
import { newAuthority, newCertificate } from './certificate.ts';
import { whatIsDue, type Due, type TlsData } from './due.ts';

export type Made = { data: TlsData; until: Date };

/**
 * A certificate for a server of these names by the authority that is there, or, where none is, by a new one. So, too, by a new one where that
 * which is there is no work of ours, and ours under it would be believed by nobody: its key of another kind, its name of several parts.
 */
export function made(names: [string, ...string[]], now: Date, due?: Exclude<Due, { due: 'nothing' }>): Made {
  const given = { now, random: randomBytes };
  const signer = due?.due === 'certificate' ? due.authority : newAuthority(`${names[0]} authority`, given);
  const { until, ...server } = newCertificate(signer, names, given);
  const data = { 'ca.crt': signer.certificate, 'ca.key': signer.key, 'tls.crt': server.certificate, 'tls.key': server.key };
  const isSound = due?.due !== 'certificate' || whatIsDue(data, { names, now }).due === 'nothing';
  return isSound ? { data, until } : made(names, now);
}
