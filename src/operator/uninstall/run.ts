import type { Env } from '../../config/env.ts';
import { readOperatorConfig } from '../../config/platform/operator.ts';
import { DATA_WORD, type UninstallConfig } from '../../config/platform/uninstall.ts';
import { NotFound, StartError } from '../../errors.ts';
import type { ConnectedKube, Kind, KubeObject } from '../../kube/kube.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Log } from '../../log.ts';
import { sleepUnlessAborted } from '../../pause.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, MANAGED_BY, OPERATOR, PART_OF } from '../../schema/platform/objects/labels.ts';
import { startOperator, type OperatorOptions } from '../start.ts';
import { formatObjectNames, requireDataStays, readOperatorSettings } from './plan.ts';

const LOOK_AGAIN = 1000;
/** Looks between two lines about the rest. */
const LOOKS_A_LINE = 10;
/** The data of databases: their volume claims and credentials, which outlive their deployments. */
const DATA = `${COMPONENT}=database,${MANAGED_BY}=${OPERATOR}`;

type Uninstall = {
  kube: ConnectedKube;
  config: UninstallConfig;
  /** The environment of this process, whose settings count where the operator is gone. */
  env: Env;
  log: Log;
  out: (line: string) => void;
  signal: AbortSignal;
  times?: OperatorOptions['times'];
};

/**
 * Deletes every deployment and waits until nothing of them is left. An operator that works does the removal. Where none
 * does, one in this process takes the Lease. Data stays unless the configuration asks for its deletion.
 */
export async function runUninstall(given: Uninstall): Promise<void> {
  const { kube, config, env, out, log, signal, times } = given;
  const labelSelector = `${COMPONENT_OF_CHART},${PART_OF}=gx-platform`;
  const [workload] = await kube.listAll(
    kinds.workload,
    { namespace: config.namespace, labelSelector },
    signal,
  );
  const operated = readOperatorConfig({
    ...env,
    ...readOperatorSettings(workload),
    GX_NAMESPACE: config.namespace,
  });
  const { namespaces, settings } = operated;
  const found = await listObjects(kinds.deployment, namespaces, {}, given);
  if (!config.deletesData) requireDataStays(found, settings.deletionPolicy, DATA_WORD);
  out(
    `${found.length} deployments are to be removed${config.deletesData ? ' with all data' : '; all data stays'}.`,
  );
  for (const deployment of found) await remove(deployment, given);
  const operator = await startOperator({
    config: { ...operated, port: 0 },
    kube,
    log,
    signal,
    ...(times && { times }),
  });
  try {
    await waitUntilGone(namespaces, given);
  } finally {
    await operator.stop();
  }
  await leaveData(namespaces, given);
  out(
    'No deployment is left. The installation can be removed now: its release, its definitions and its namespaces.',
  );
}

const COMPONENT_OF_CHART = 'app.kubernetes.io/component=operator';

async function remove(
  { metadata, spec }: DeploymentResource,
  { kube, config, signal }: Uninstall,
): Promise<void> {
  const { namespace, name, uid } = metadata;
  if (config.deletesData && spec.deletionPolicy !== 'Delete')
    await kube.patchJson(
      kinds.deployment,
      { namespace, name },
      [{ op: 'add', path: '/spec/deletionPolicy', value: 'Delete' }],
      {},
      signal,
    );
  await kube.delete(
    kinds.deployment,
    { namespace, name },
    { ...(uid !== undefined && { uid }) },
    signal,
  );
}

async function waitUntilGone(namespaces: string[], asked: Uninstall): Promise<void> {
  const { config, out, signal } = asked;
  const deadline = performance.now() + config.seconds * 1000;
  for (let look = 0; ; look += 1) {
    const left = [
      ...(await listObjects(kinds.deployment, namespaces, {}, asked)),
      ...(await listObjects(kinds.revision, namespaces, {}, asked)),
    ];
    if (left.length === 0) return;
    for (const object of left) await removeFinalizers(object, asked);
    const messages = left.map(({ status }) => status?.message).find((text) => text !== undefined);
    if (performance.now() > deadline)
      throw new StartError(
        `Still there after ${config.seconds} s: ${formatObjectNames(left)}. ${messages ?? ''}`.trim(),
      );
    if (look % LOOKS_A_LINE === 0) out(`Waiting for ${formatObjectNames(left)}.`);
    if (!(await sleepUnlessAborted(LOOK_AGAIN, signal))) throw signal.reason;
  }
}

/**
 * Removes the finalizers of an object whose namespace is being deleted. Its children go with the namespace, which may
 * have taken the rights of the operator already.
 */
async function removeFinalizers(
  { kind, metadata }: KubeObject,
  { kube, signal }: Uninstall,
): Promise<void> {
  const { namespace, name, finalizers = [] } = metadata;
  if (finalizers.length === 0 || metadata.deletionTimestamp === undefined) return;
  const place = await kube.find(kinds.namespace, { name: namespace ?? '' }, signal);
  if (place?.metadata.deletionTimestamp === undefined) return;
  const of: Kind = kind === kinds.revision.kind ? kinds.revision : kinds.deployment;
  const path = '/metadata/finalizers';
  const patch = [
    { op: 'test' as const, path, value: finalizers },
    { op: 'remove' as const, path },
  ];
  await kube.patchJson(of, { namespace, name }, patch, {}, signal).catch(skipNotFound);
}

/** Deletes the data that outlives its deployments if that is asked for. Says where it is, if not. */
async function leaveData(namespaces: string[], asked: Uninstall): Promise<void> {
  const { kube, config, out, signal } = asked;
  const claims = await listObjects(kinds.volumeClaim, namespaces, { labelSelector: DATA }, asked);
  if (!config.deletesData) {
    if (claims.length > 0)
      out(
        `The data stays in these volume claims, beside their credentials: ${formatObjectNames(claims)}.`,
      );
    return;
  }
  const credentials = await listObjects(kinds.secret, namespaces, { labelSelector: DATA }, asked);
  for (const { metadata } of claims) await kube.delete(kinds.volumeClaim, metadata, {}, signal);
  for (const { metadata } of credentials) await kube.delete(kinds.secret, metadata, {}, signal);
  out('All data is deleted.');
}

/** Returns the objects of a kind in these namespaces, or in all. A kind that is gone has none. */
async function listObjects<T extends KubeObject>(
  kind: Kind<T>,
  namespaces: readonly string[],
  options: { labelSelector?: string },
  { kube, signal }: Uninstall,
): Promise<T[]> {
  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  const lists = await Promise.all(
    places.map((place) =>
      kube.listAll<T>(kind, { ...place, ...options }, signal).catch(skipNotFound),
    ),
  );
  return lists.flat();
}

function skipNotFound(error: unknown): [] {
  if (error instanceof NotFound) return [];
  throw error;
}
