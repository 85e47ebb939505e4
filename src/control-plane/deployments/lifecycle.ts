import { Conflict, Invalid } from '../../errors.ts';
import { listBudgetFaults } from '../../schema/agent/budget.ts';
import { kinds } from '../../kube/kinds.ts';
import type { JsonPatch } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  DeploymentSpec,
} from '../../schema/platform/resources/custom-resources.ts';
import type { LifecyclePatch } from '../../schema/platform/deployment/deployment-summary.ts';
import { WAKE } from '../../schema/platform/objects/labels.ts';
import { toResourceForm } from '../../schema/types.ts';
import type { CallContext } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedBy } from '../requested-by.ts';
import { readDeployment } from './lookup.ts';
import { checkVersion } from './patch.ts';

/** Returns the spec with a change of how the deployment lives. An absent field stays, null takes it away. */
function applyLifecycle(spec: DeploymentSpec, patch: LifecyclePatch): DeploymentSpec {
  const after = {
    hibernate: spec.hibernate,
    suspend: spec.suspend,
    sleep: spec.sleep,
    queueReplicas: spec.queueReplicas,
    budgets: spec.budgets,
    ...Object.fromEntries(
      Object.entries(toResource(patch)).map(([field, value]) => [field, value ?? undefined]),
    ),
  };
  return { ...spec, ...after } as DeploymentSpec;
}

const toResource = ({ queue_replicas, sleep, ...same }: LifecyclePatch): object => ({
  ...same,
  ...(queue_replicas !== undefined && { queueReplicas: queue_replicas }),
  ...(sleep !== undefined && { sleep: sleep === null ? null : toResourceForm(sleep) }),
});

/**
 * Changes how a deployment lives, without a new revision. Throws `Conflict` for one that is being deleted, and a 412
 * for one that is not of the version that `ifMatch` names. Throws `Invalid` for faulty budgets.
 */
export function updateLifecycle(
  plane: ControlPlane,
  patch: LifecyclePatch,
  call: CallContext,
  { id, ifMatch }: { id: string; ifMatch: string | undefined },
): Promise<DeploymentResource> {
  const [fault] = listBudgetFaults(patch.budgets ?? []);
  if (fault !== undefined)
    throw new Invalid([
      { loc: ['body', 'budgets', fault.at, fault.field], msg: fault.msg, type: 'value_error' },
    ]);
  return retryConflicts(
    () => readLiving(plane, id, call, ifMatch),
    (deployment) =>
      write(plane, deployment, { spec: applyLifecycle(deployment.spec, patch), call }),
  );
}

/** Wakes a deployment that sleeps. One that is awake stays as it is. */
export function wakeDeployment(
  plane: ControlPlane,
  id: string,
  call: CallContext,
): Promise<DeploymentResource> {
  return retryConflicts(
    () => readLiving(plane, id, call),
    async (deployment) => {
      const since = deployment.status?.asleepSince;
      // The annotation names the sleep that is to end, so a late request ends no later one.
      if (since === undefined) return deployment;
      return write(plane, deployment, { annotations: { [WAKE]: since }, call });
    },
  );
}

async function readLiving(
  plane: ControlPlane,
  id: string,
  call: CallContext,
  ifMatch?: string,
): Promise<DeploymentResource> {
  const deployment = await readDeployment(plane, id, call);
  if (deployment.metadata.deletionTimestamp !== undefined)
    throw new Conflict(`Deployment ID ${id} is being deleted.`);
  checkVersion(deployment, ifMatch);
  return deployment;
}

/** Writes a change of the version that was read, with the caller's name. One that changes nothing is not written. */
async function write(
  plane: ControlPlane,
  deployment: DeploymentResource,
  {
    spec,
    annotations,
    call,
  }: { spec?: DeploymentSpec; annotations?: Record<string, string>; call: CallContext },
): Promise<DeploymentResource> {
  const { metadata } = deployment;
  const known = metadata.annotations ?? {};
  const inSpec = buildJsonPatch(deployment.spec, spec ?? deployment.spec, '/spec');
  const isNews =
    inSpec.length > 0 ||
    Object.entries(annotations ?? {}).some(([key, value]) => known[key] !== value);
  if (!isNews) return deployment;
  const signed = { ...known, ...annotations, ...buildRequestedBy(call.caller) };
  const patch: JsonPatch = [
    { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    ...inSpec,
    ...buildJsonPatch(metadata.annotations, signed, '/metadata/annotations'),
  ];
  const ref = { namespace: metadata.namespace, name: metadata.name };
  return plane.stored.note.deployment(
    await callKube(() => plane.kube.patchJson(kinds.deployment, ref, patch)),
  );
}
