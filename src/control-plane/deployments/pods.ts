import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { toLabelValue } from '../../schema/names.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentPod } from '../../schema/platform/objects/deployment-objects.ts';
import { COMPONENT, DEPLOYMENT, REVISION } from '../../schema/platform/objects/labels.ts';
import type { ControlPlane } from '../control-plane.ts';

type ContainerState = { reason?: string; message?: string; exitCode?: number };
type ContainerStatus = {
  restartCount?: number;
  state?: { waiting?: ContainerState; terminated?: ContainerState };
  lastState?: { terminated?: ContainerState };
};
type Pod = KubeObject & {
  spec?: { nodeName?: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
};

/** Pods that are shown at most. */
const MOST = 200;

/** Returns the pods of a deployment in its own namespace, by name: at most 200. */
export async function listDeploymentPods(
  { kube, stored }: ControlPlane,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<DeploymentPod[]> {
  const { name, namespace } = deployment.metadata;
  const inNamespace = namespace === undefined ? {} : { namespace };
  const { items } = await kube.list(
    kinds.pod,
    { ...inNamespace, labelSelector: `${DEPLOYMENT}=${toLabelValue(name)}`, limit: MOST },
    signal,
  );
  const revisions = new Map(
    stored
      .listRevisions(deployment)
      .map((revision) => [toLabelValue(revision.metadata.name), revision]),
  );
  return (items as Pod[])
    .map((pod) => toPodAnswer(pod, revisions))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function toPodAnswer(
  { metadata, spec, status = {} }: Pod,
  revisions: ReadonlyMap<string, RevisionResource>,
): DeploymentPod {
  const { labels = {} } = metadata;
  return {
    name: metadata.name,
    component: labels[COMPONENT] ?? '',
    revision_id: revisions.get(labels[REVISION] ?? '')?.metadata.uid ?? null,
    phase: status.phase ?? 'Unknown',
    ready: (status.conditions ?? []).some(
      (condition) => condition.type === 'Ready' && condition.status === 'True',
    ),
    restarts: countRestarts(status),
    ...describeFault(status),
    node: spec?.nodeName ?? null,
    created_at: metadata.creationTimestamp ?? '',
  };
}

const countRestarts = ({ containerStatuses = [] }: NonNullable<Pod['status']>): number =>
  containerStatuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);

/** Returns why a pod is not ready: an eviction, a place that was not found, or the state of a container. */
function describeFault(
  status: NonNullable<Pod['status']>,
): Pick<DeploymentPod, 'reason' | 'message'> {
  const unplaced = status.conditions?.find(
    ({ type, status: held }) => type === 'PodScheduled' && held === 'False',
  );
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const found = [
    status.reason === undefined ? undefined : status,
    unplaced,
    ...containers.map(pickState),
  ].find((one) => one !== undefined);
  return { reason: found?.reason ?? null, message: found?.message ?? null };
}

function pickState({ state, lastState }: ContainerStatus): ContainerState | undefined {
  if (state?.waiting?.reason === 'CrashLoopBackOff')
    return lastState?.terminated?.reason === 'OOMKilled' ? lastState.terminated : state.waiting;
  if (state?.waiting !== undefined) return state.waiting;
  return [state?.terminated, lastState?.terminated].find(
    (ended) => ended !== undefined && ended.exitCode !== 0,
  );
}
