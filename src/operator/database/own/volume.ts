import type { Kube } from '../../../kube/kube.ts';
import { Forbidden, NotFound, Problem } from '../../../errors.ts';
import { KubeRefused } from '../../../kube/errors.ts';
import { kinds } from '../../../kube/kinds.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { VOLUME_GROWN } from '../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, DEPLOYMENT } from '../../../schema/platform/objects/labels.ts';
import { toLabelValue } from '../../../schema/names.ts';
import { isReplacing } from '../../../schema/platform/backup/replacement.ts';
import { pickRoleMetadata } from '../../../schema/platform/objects/object-keys.ts';
import { hashJson } from '../../../schema/canonical-json.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { parseQuantity } from '../../kernel/quantity.ts';
import type { DatabaseStep } from '../database.ts';
import { buildLabelPatch } from './claim-words.ts';
import { getStorageBytes, type StorageRequest } from './size.ts';
import { findUsedClaim, claimName, filterDataClaims } from './volume-name.ts';

const GIBIBYTE = 2 ** 30;

/**
 * Returns the size that the spec asks for, and the bytes by which it is beyond (or, negative, below) the live volume.
 * Undefined if nobody asks for a size. Then a live database keeps the default that it was made with, whatever the
 * installation's default is today.
 */
export function resolveRequestedStorage(
  { spec }: DeploymentResource,
  live: KubeObject | undefined,
): { gibibytes: number; missing: number } | undefined {
  const gibibytes = spec.template.resourceSpec?.dbStorageGi;
  const stored = getStorageBytes(live);
  return gibibytes === undefined || stored === undefined
    ? undefined
    : { gibibytes, missing: gibibytes * GIBIBYTE - stored };
}

/**
 * Enlarges the volume of a database if a larger one is asked for. Its claim grows while its pod runs. The template of a
 * set can't be changed, so the set is removed without its pod, and the next pass makes it again. A pass after a crash
 * finds each step done or not done.
 */
export async function growVolume(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { view: { database }, signal }: DatabaseStep,
): Promise<StatedCondition | undefined> {
  const { gibibytes = 0, missing = 0 } = resolveRequestedStorage(deployment, database) ?? {};
  if (missing < 0) return buildTooSmallCondition(gibibytes, missing);
  if (database === undefined || missing === 0 || isReplacing(deployment)) return undefined;
  if (database.metadata.deletionTimestamp !== undefined)
    return buildGrowingCondition('The StatefulSet of the database is being recreated.');
  const refusal = await growClaim(deps, deployment, gibibytes, database, signal);
  if (refusal !== undefined) return refusal;
  await deps.writer.remove(database, signal, 'Orphan');
  return buildGrowingCondition('The volume is being enlarged.');
}

type ClaimTemplate = { spec: { resources: { requests: object } } };
/**
 * Finds the claim that is there before the set: that of a deleted deployment, or of a set that somebody deleted. A new
 * volume that takes the place of another one is like that one.
 */
export async function findKeptClaim(
  { kube }: OperatorDeps,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { namespace } = deployment.metadata;
  const { former } = deployment.status?.replacement ?? {};
  const find = (name: string): Promise<KubeObject | undefined> =>
    kube.find(kinds.volumeClaim, { namespace, name }, signal);
  return (
    (await find(claimName(deployment))) ?? (former === undefined ? undefined : await find(former))
  );
}

/** Returns the objects with a set that says how large its claim is. Growth is computed from the size in the set. */
export function applyClaimSize(claim: KubeObject, objects: KubeObject[]): KubeObject[] {
  const { storage } = (claim.spec as StorageRequest).resources.requests;
  const setTemplateSize = ({ spec, ...template }: ClaimTemplate): ClaimTemplate => {
    const requests = { ...spec.resources.requests, storage };
    return { ...template, spec: { ...spec, resources: { ...spec.resources, requests } } };
  };
  return objects.map((object) => {
    if (object.kind !== 'StatefulSet') return object;
    const spec = object.spec as { volumeClaimTemplates: ClaimTemplate[] };
    return {
      ...object,
      spec: { ...spec, volumeClaimTemplates: spec.volumeClaimTemplates.map(setTemplateSize) },
    };
  });
}

/** Lists the volume claims of a deployment's data: the one in use, and former ones. */
export async function listDataClaims(
  { kube }: { kube: Kube },
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const { namespace, name } = deployment.metadata;
  const labelSelector = `${DEPLOYMENT}=${toLabelValue(name)},${COMPONENT}=database`;
  const claims = await kube.listAll(
    kinds.volumeClaim,
    { ...(namespace !== undefined && { namespace }), labelSelector },
    signal,
  );
  return filterDataClaims(deployment, claims);
}

/** Returns the deployment with the claim that its data is in, where neither its status nor a set tells it. */
export async function addFoundVolume(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<DeploymentResource> {
  if (deployment.status?.databaseVolume !== undefined) return deployment;
  const claim = findUsedClaim(deployment, await listDataClaims(deps, deployment, signal));
  return claim === undefined
    ? deployment
    : { ...deployment, status: { ...deployment.status, databaseVolume: claim } };
}

/**
 * Gives the volume claim the labels and annotations of the newest spec. The template of a set can't be changed, so the
 * claim itself is patched. Returns the hash for the status, so that a settled deployment reads no claim. One that is
 * not made yet is there when its pod wakes the deployment. One that may not be patched stays as it is.
 */
export async function keepClaimWords(
  { kube, settings }: OperatorDeps,
  deployment: DeploymentResource,
  { view, signal }: DatabaseStep,
): Promise<string | undefined> {
  const words = pickRoleMetadata(
    deployment.spec.template.resourceSpec,
    'claims',
    settings.objectKeys,
  );
  const isNone = [words.labels, words.annotations].every((of) => Object.keys(of).length === 0);
  const [known, wanted] = [deployment.status?.claimWords, isNone ? undefined : hashJson(words)];
  if (known === wanted || view.database === undefined) return known;
  const ref = {
    namespace: deployment.metadata.namespace,
    name: claimName(deployment, view.database),
  };
  const claim = await kube.find(kinds.volumeClaim, ref, signal);
  if (claim === undefined) return known;
  const patch = buildLabelPatch(claim, words);
  try {
    if (patch.length > 0) await kube.patchJson(kinds.volumeClaim, ref, patch, {}, signal);
    return wanted;
  } catch (error) {
    if (error instanceof Forbidden) return known;
    throw error;
  }
}

async function growClaim(
  { kube }: OperatorDeps,
  deployment: DeploymentResource,
  gibibytes: number,
  database: KubeObject,
  signal: AbortSignal,
) {
  const ref = { namespace: deployment.metadata.namespace, name: claimName(deployment, database) };
  try {
    const { spec } = await kube.get(kinds.volumeClaim, ref, signal);
    const known = (spec as StorageRequest).resources.requests.storage;
    // A claim that somebody enlarged by hand stays as it is.
    if ((parseQuantity(known) ?? 0) >= gibibytes * GIBIBYTE) return undefined;
    const path = '/spec/resources/requests/storage';
    const patch = [
      { op: 'test' as const, path, value: known },
      { op: 'replace' as const, path, value: `${gibibytes}Gi` },
    ];
    await kube.patchJson(kinds.volumeClaim, ref, patch, {}, signal);
    return undefined;
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    if (error instanceof Forbidden || error instanceof KubeRefused)
      return buildRefusedCondition(error);
    throw error;
  }
}

function buildTooSmallCondition(gibibytes: number, missing: number): StatedCondition {
  const message = `template.resourceSpec.dbStorageGi: ${gibibytes} Gi are requested, but the volume has ${gibibytes - missing / GIBIBYTE} Gi, and a volume never shrinks. It stays as it is.`;
  return { type: VOLUME_GROWN, status: 'False', reason: 'NeverShrinks', message, event: 'Warning' };
}

const buildGrowingCondition = (message: string): StatedCondition => ({
  type: VOLUME_GROWN,
  status: 'False',
  reason: 'Growing',
  message,
  event: 'Normal',
});

const buildRefusedCondition = ({ message }: Problem): StatedCondition => ({
  type: VOLUME_GROWN,
  status: 'False',
  reason: 'NotExpandable',
  event: 'Warning',
  message:
    `template.resourceSpec.dbStorageGi: the cluster does not enlarge the volume, which stays as it is. ${message}`.slice(
      0,
      4096,
    ),
});
