import { Forbidden, NotFound, Problem } from '../../../errors.ts';
import { KubeRefused } from '../../../kube/errors.ts';
import { kinds, type KubeObject } from '../../../kube/kube.ts';
import { VOLUME_GROWN } from '../../../schema/conditions.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { names } from '../../../schema/names.ts';
import type { OperatorDeps } from '../../family/deps.ts';
import type { Statement } from '../../kernel/outcome.ts';
import { quantity } from '../../kernel/quantity.ts';
import { databaseSize } from './set.ts';
import { dataOwner } from '../../family/metadata.ts';

type StorageRequest = { resources: { requests: { storage: string } } };
type SetSpec = { volumeClaimTemplates?: { spec: StorageRequest }[] };

/** Name of the claim that the database's one pod gets. */
export const claimName = (deployment: DeploymentResource): string =>
  `${names.databaseVolume(dataOwner(deployment))}-${names.database(deployment.metadata.name)}-0`;

/** Bytes the spec asks for beyond (or, negative, below) what the live database was made with (pure). */
export function storageMissing(deployment: DeploymentResource, { settings }: Pick<OperatorDeps, 'settings'>, live?: KubeObject): number {
  const stored = (live?.spec as SetSpec | undefined)?.volumeClaimTemplates?.[0]?.spec.resources.requests.storage;
  const known = stored === undefined ? undefined : quantity(stored);
  return known === undefined ? 0 : databaseSize(deployment, settings).storageGi * 2 ** 30 - known;
}

/**
 * A database that is asked to be larger: its claim grows while its pod runs. The set's own template can't be changed, so the set is
 * removed without its pod, and the next pass makes it again. Each step is found done by a pass that comes after a crash.
 */
export async function growVolume(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { database, signal }: { database: KubeObject | undefined; signal: AbortSignal },
): Promise<Statement | undefined> {
  const missing = storageMissing(deployment, deps, database);
  if (missing < 0) return tooSmall(deployment, deps, missing);
  if (database === undefined || missing === 0) return undefined;
  if (database.metadata.deletionTimestamp !== undefined) return growing('The set of the database is being made again.');
  const refusal = await growClaim(deps, deployment, signal);
  if (refusal !== undefined) return refusal;
  await deps.writer.remove(database, signal, 'Orphan');
  return growing('The volume is being enlarged.');
}

async function growClaim({ kube, settings }: OperatorDeps, deployment: DeploymentResource, signal: AbortSignal) {
  const ref = { namespace: deployment.metadata.namespace, name: claimName(deployment) };
  const gibibytes = databaseSize(deployment, settings).storageGi;
  try {
    const { spec } = await kube.get(kinds.volumeClaim, ref, signal);
    const known = (spec as StorageRequest).resources.requests.storage;
    // The claim is the floor: one that somebody enlarged by hand stays as it is.
    if ((quantity(known) ?? 0) >= gibibytes * 2 ** 30) return undefined;
    const path = '/spec/resources/requests/storage';
    const patch = [
      { op: 'test' as const, path, value: known },
      { op: 'replace' as const, path, value: `${gibibytes}Gi` },
    ];
    await kube.jsonPatch(kinds.volumeClaim, ref, patch, {}, signal);
    return undefined;
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    if (error instanceof Forbidden || error instanceof KubeRefused) return refused(error);
    throw error;
  }
}

function tooSmall(deployment: DeploymentResource, { settings }: Pick<OperatorDeps, 'settings'>, missing: number): Statement {
  const asked = databaseSize(deployment, settings).storageGi;
  const message = `template.resourceSpec.dbStorageGi: ${asked} Gi are asked for, but the volume has ${asked - missing / 2 ** 30} Gi, and a volume never shrinks. It stays as it is.`;
  return { type: VOLUME_GROWN, status: 'False', reason: 'NeverShrinks', message, event: 'Warning' };
}

const growing = (message: string): Statement => ({ type: VOLUME_GROWN, status: 'False', reason: 'Growing', message, event: 'Normal' });

const refused = ({ message }: Problem): Statement => ({
  type: VOLUME_GROWN,
  status: 'False',
  reason: 'NotExpandable',
  event: 'Warning',
  message: `template.resourceSpec.dbStorageGi: the cluster does not enlarge the volume, which stays as it is. ${message}`.slice(0, 4096),
});
