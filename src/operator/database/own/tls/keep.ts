import { kinds } from '../../../../kube/kinds.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { names } from '../../../../schema/names.ts';
import { formatKubernetesTime } from '../../../../schema/types.ts';
import { isRequestHandled } from '../../../rollout/deployment.ts';
import { buildTakeOverPatch } from '../../../objects/ownership.ts';
import { writeSecret } from '../../../objects/write-secret.ts';
import { listDatabaseHosts, buildTlsSecrets } from './secret.ts';
import type { OperatorDeps } from '../../../view/deps.ts';
import type { DatabasePass } from '../../database.ts';
import { countSecondsUntilCheck, measureStuckSeconds } from './due.ts';
import { renewTlsData, createTlsData } from './make.ts';

/** When the database's certificate expires, and the seconds after which to look again. */
export type CertificateState = { until: string; again: number };

/**
 * Keeps a certificate for a database. Its Secrets are not watched, because the status says when it expires. They are
 * read before that, when somebody asks for a reconcile, and when a pod makes no progress. A settled deployment reads
 * nothing.
 */
export async function keepCertificate(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  pass: DatabasePass,
): Promise<CertificateState> {
  const { view, now } = pass;
  const { databaseCertificateUntil } = deployment.status ?? {};
  const known =
    databaseCertificateUntil === undefined ? undefined : new Date(databaseCertificateUntil);
  const stuck = measureStuckSeconds([...view.databasePods, ...view.agentPods], now);
  const left =
    known === undefined || !isRequestHandled(deployment)
      ? 0
      : countSecondsUntilCheck(known, { stuck, now });
  const until =
    known !== undefined && left > 0 ? known : await renewCertificate(deps, deployment, pass);
  const again = left > 0 ? left : countSecondsUntilCheck(until, { now });
  return { until: formatKubernetesTime(until), again: Math.max(1, Math.ceil(again)) };
}

/** Reads the Secrets and makes the parts that are due. Returns when the certificate expires. */
async function renewCertificate(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { now, signal }: DatabasePass,
): Promise<Date> {
  const { kube, writer, settings } = deps;
  const hosts = listDatabaseHosts(deployment, settings);
  const { namespace, name, generation } = deployment.metadata;
  if (generation === 1 && deployment.status?.databaseCertificateUntil === undefined) {
    const first = createTlsData(hosts, now);
    const [authority, server] = buildTlsSecrets(deployment, first);
    if ((await writer.create(authority, signal)) && (await writer.create(server, signal)))
      return first.until;
  }
  const secrets = [names.databaseAuthority(name), names.databaseTls(name)].map((secret) => ({
    namespace,
    name: secret,
  }));
  const [authority, server] = await Promise.all(
    secrets.map((ref) => kube.find(kinds.secret, ref, signal)),
  );
  const [ofAuthority, ofServer] = [
    buildTakeOverPatch(deployment, authority),
    buildTakeOverPatch(deployment, server),
  ];
  const wanted = renewTlsData(
    { authority: decodeData(authority?.data), server: decodeData(server?.data) },
    hosts,
    now,
  );
  const [nextAuthority, nextServer] = buildTlsSecrets(deployment, wanted);
  // The authority comes first: its key must not be lost between two writes.
  await writeSecret(deps, authority, nextAuthority, ofAuthority, signal);
  await writeSecret(deps, server, nextServer, ofServer, signal);
  return wanted.until;
}

const decodeData = (data: Record<string, string> = {}): Partial<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString('utf8'),
    ]),
  );
