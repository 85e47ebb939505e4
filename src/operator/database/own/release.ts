import { Forbidden } from '../../../errors.ts';
import { kinds, type KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { names } from '../../../schema/names.ts';
import { dataOwner } from '../../objects/metadata.ts';
import { isOrphan } from '../../pods/workload-state.ts';
import type { PartDeps } from '../../reports/part-report.ts';
import { listCredentials } from './credentials/list.ts';
import { databaseSet } from './set.ts';
import { listDataClaims } from './volume.ts';
import { claimName } from './volume-name.ts';

type Left = { children: KubeObject[]; signal: AbortSignal };

/**
 * Makes the set again for a pod that lost it, because the deployment was deleted between the two steps in which a
 * volume grows. The set adopts the pod and is deleted with it, because the operator itself may not delete pods.
 */
export async function holdPod({ writer, settings }: PartDeps, deployment: DeploymentResource, { children, signal }: Left): Promise<void> {
  const isLost = children.some((child) => isOrphan(child, 'database'));
  if (!isLost || children.some(({ kind }) => kind === 'StatefulSet')) return;
  await writer.reconcile([databaseSet(deployment, settings, {})], [], signal);
}

/** Removes the volumes and their credentials if the policy is Delete. Returns the claims that are left. */
export async function removeData({ kube, settings }: PartDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<KubeObject[]> {
  const { namespace } = deployment.metadata;
  const policy = deployment.spec.deletionPolicy ?? settings.deletionPolicy;
  if (policy === 'Retain') return [];
  const credentials = await listCredentials({ kube }, deployment, signal).catch(unlessForbidden);
  const admin = names.databaseAdmin(deployment.metadata.name, dataOwner(deployment));
  for (const secret of [...credentials.map((known) => known.secret), admin])
    await kube.delete(kinds.secret, { namespace, name: secret }, {}, signal).catch(unlessForbidden);
  const listed = (await listDataClaims({ kube }, deployment, signal)).map(({ metadata }) => metadata.name);
  // Somebody may have taken its labels away.
  const claims = [...new Set([claimName(deployment), ...listed])];
  for (const claim of claims) await kube.delete(kinds.volumeClaim, { namespace, name: claim }, {}, signal);
  const scope = { ...(namespace !== undefined && { namespace }) };
  const left = claims.map((claim) => kube.all(kinds.volumeClaim, { ...scope, fieldSelector: `metadata.name=${claim}` }, signal));
  return (await Promise.all(left)).flat();
}

/** A missing right must not hold the deployment forever. It may be missing because the namespace is being deleted. */
const unlessForbidden = (error: unknown): [] => {
  if (error instanceof Forbidden) return [];
  throw error;
};
