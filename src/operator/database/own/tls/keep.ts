import { Unavailable } from '../../../../errors.ts';
import { kinds, type JsonPatch, type KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/custom-resources.ts';
import { MANAGED_BY, OPERATOR } from '../../../../schema/labels.ts';
import { names } from '../../../../schema/names.ts';
import { dateTimeOf } from '../../../../schema/types.ts';
import { isRequestHandled } from '../../../family/deployment.ts';
import { ownedMetadata } from '../../../family/metadata.ts';
import { databaseHosts, tlsSecret } from './secret.ts';
import { servesTls } from './served.ts';
import type { DatabaseDeps, DatabasePass } from '../../database.ts';
import { secondsUntilCheck, stuckFor, whatIsDue, type TlsData } from './due.ts';
import { made } from './make.ts';

/**
 * When the database's certificate expires, and the seconds after which to look again. Empty for a database without TLS.
 */
export type Kept = { until?: string; again?: number };

type Pass = Pick<DatabasePass, 'view' | 'signal' | 'now'> & { /** The database as it is to be. */ set: KubeObject | undefined };

/**
 * Keeps a certificate for a database that serves TLS. Its Secret is not watched, because the status says when it
 * expires. It is read before that, when somebody asks for a reconcile, and when a pod makes no progress. A settled
 * deployment reads nothing.
 */
export async function keepCertificate(deps: DatabaseDeps, deployment: DeploymentResource, pass: Pass): Promise<Kept> {
  if (!servesTls(pass.set)) return {};
  const { view, now } = pass;
  const known = deployment.status?.databaseCertificateUntil;
  const stuck = stuckFor([...view.databasePods, ...view.agentPods], now);
  const left = known === undefined || !isRequestHandled(deployment) ? 0 : secondsUntilCheck(new Date(known), { stuck, now });
  const until = known !== undefined && left > 0 ? new Date(known) : await renewed(deps, deployment, pass);
  const again = left > 0 ? left : secondsUntilCheck(until, { now });
  return { until: dateTimeOf(until), again: Math.max(1, Math.ceil(again)) };
}

/** Reads the Secret and makes what is due. Returns when the certificate expires. */
async function renewed({ kube, writer, settings }: DatabaseDeps, deployment: DeploymentResource, { now, signal }: Pass): Promise<Date> {
  const hosts = databaseHosts(deployment, settings);
  const ref = { namespace: deployment.metadata.namespace, name: names.databaseTls(deployment.metadata.name) };
  const isNew = deployment.metadata.generation === 1 && deployment.status?.databaseCertificateUntil === undefined;
  const found = isNew ? undefined : await kube.find(kinds.secret, ref, signal);
  if (found === undefined) {
    const { data, until } = made(hosts, now);
    if (await writer.create(tlsSecret(deployment, data), signal)) return until;
  }
  const live = found ?? (await kube.get(kinds.secret, ref, signal));
  const due = whatIsDue(decoded(live.data), { names: hosts, now });
  const held = due.due === 'nothing' ? { data: undefined, until: due.until } : made(hosts, now, due);
  const changes = [
    ...ownership(deployment, live),
    ...(held.data === undefined ? [] : [set('/data', tlsSecret(deployment, held.data).data)]),
  ];
  const isAsSeen = { op: 'test' as const, path: '/metadata/resourceVersion', value: live.metadata.resourceVersion };
  if (changes.length > 0) await kube.jsonPatch(kinds.secret, ref, [isAsSeen, ...changes], {}, signal);
  return held.until;
}

const set = (path: string, value: unknown): JsonPatch[number] => ({ op: 'add', path, value });

/** Returns the patch that takes over a Secret which a backup restored without its owner. */
function ownership(deployment: DeploymentResource, { metadata }: KubeObject): JsonPatch {
  const { ownerReferences: owners = [], labels, name } = metadata;
  if (owners.some(({ uid }) => uid === deployment.metadata.uid)) return [];
  if (owners.length === 0 && labels?.[MANAGED_BY] === OPERATOR)
    return [set('/metadata/ownerReferences', ownedMetadata(deployment, 'tls', name).ownerReferences)];
  throw new Unavailable(`Secret ${name} belongs to an earlier deployment that is still being deleted, or to somebody else.`);
}

const decoded = (data: Record<string, string> = {}): Partial<TlsData> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
