import { kinds } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/custom-resources.ts';
import { names } from '../../../../schema/names.ts';
import { dateTimeOf } from '../../../../schema/types.ts';
import { isRequestHandled } from '../../../rollout/deployment.ts';
import { takenOver } from '../../../objects/ownership.ts';
import { writeSecret } from '../../../objects/write-secret.ts';
import { databaseHosts, tlsSecrets } from './secret.ts';
import type { PartDeps } from '../../../reports/part-report.ts';
import type { DatabasePass } from '../../database.ts';
import { secondsUntilCheck, stuckFor } from './due.ts';
import { kept, made } from './make.ts';

/** When the database's certificate expires, and the seconds after which to look again. */
export type Kept = { until: string; again: number };

type Pass = Pick<DatabasePass, 'view' | 'signal' | 'now'>;

/**
 * Keeps a certificate for a database. Its Secrets are not watched, because the status says when it expires. They are
 * read before that, when somebody asks for a reconcile, and when a pod makes no progress. A settled deployment reads
 * nothing.
 */
export async function keepCertificate(deps: PartDeps, deployment: DeploymentResource, pass: Pass): Promise<Kept> {
  const { view, now } = pass;
  const { databaseCertificateUntil } = deployment.status ?? {};
  const known = databaseCertificateUntil === undefined ? undefined : new Date(databaseCertificateUntil);
  const stuck = stuckFor([...view.databasePods, ...view.agentPods], now);
  const left = known === undefined || !isRequestHandled(deployment) ? 0 : secondsUntilCheck(known, { stuck, now });
  const until = known !== undefined && left > 0 ? known : await renewed(deps, deployment, pass);
  const again = left > 0 ? left : secondsUntilCheck(until, { now });
  return { until: dateTimeOf(until), again: Math.max(1, Math.ceil(again)) };
}

/** Reads the Secrets and makes the parts that are due. Returns when the certificate expires. */
async function renewed(deps: PartDeps, deployment: DeploymentResource, { now, signal }: Pass): Promise<Date> {
  const { kube, writer, settings } = deps;
  const hosts = databaseHosts(deployment, settings);
  const { namespace, name, generation } = deployment.metadata;
  if (generation === 1 && deployment.status?.databaseCertificateUntil === undefined) {
    const first = made(hosts, now);
    const [authority, server] = tlsSecrets(deployment, first);
    if ((await writer.create(authority, signal)) && (await writer.create(server, signal))) return first.until;
  }
  const secrets = [names.databaseAuthority(name), names.databaseTls(name)].map((secret) => ({ namespace, name: secret }));
  const [authority, server] = await Promise.all(secrets.map((ref) => kube.find(kinds.secret, ref, signal)));
  const [ofAuthority, ofServer] = [takenOver(deployment, authority), takenOver(deployment, server)];
  const wanted = kept({ authority: decoded(authority?.data), server: decoded(server?.data) }, hosts, now);
  const [nextAuthority, nextServer] = tlsSecrets(deployment, wanted);
  // The authority comes first: its key must not be lost between two writes.
  await writeSecret(deps, { live: authority, wanted: nextAuthority, more: ofAuthority }, signal);
  await writeSecret(deps, { live: server, wanted: nextServer, more: ofServer }, signal);
  return wanted.until;
}

const decoded = (data: Record<string, string> = {}): Partial<Record<string, string>> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
