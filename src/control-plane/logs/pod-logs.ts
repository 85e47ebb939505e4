import { NotFound } from '../../errors.ts';
import { KubeRefused } from '../../kube/errors.ts';
import { kinds, type KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, REVISION } from '../../schema/labels.ts';
import { AGENT_CONTAINER, BUILD_CONTAINER, labelValue } from '../../schema/names.ts';
import type { ControlPlane } from '../control-plane.ts';
import { type Line, linesOf } from './lines.ts';

/** How many lines are read per container. Older lines are a log store's business. */
const TAIL = 5000;
/** How many pods' logs are read for one answer. */
const PODS = 20;

/** Which pods' lines: those of the agent servers, or of the builds of their image. */
export type LogType = 'build' | 'deploy';
const SOURCES: Record<LogType, { components: string; container: string }> = {
  build: { components: 'build', container: BUILD_CONTAINER },
  deploy: { components: 'api,queue', container: AGENT_CONTAINER },
};

export type LogRequest = {
  deployment: DeploymentResource;
  revision?: RevisionResource | undefined;
  type?: LogType;
  signal: AbortSignal;
  /** The time from which a pod's lines are wanted. All are wanted if it is undefined. */
  since?: (pod: string) => string | undefined;
};
type Pod = KubeObject & { status?: { containerStatuses?: { name: string; restartCount: number }[] } };

/**
 * Reads the last log lines of the agent servers or builds of a deployment or of one revision. Logs of deleted pods are
 * lost.
 */
export async function podLogs(
  { kube }: ControlPlane,
  { deployment, revision, type = 'deploy', signal, since = () => undefined }: LogRequest,
): Promise<Line[]> {
  const { components, container } = SOURCES[type];
  const { namespace, name } = deployment.metadata;
  const selectors = [
    `${DEPLOYMENT}=${labelValue(name)}`,
    `${COMPONENT} in (${components})`,
    ...(revision ? [`${REVISION}=${labelValue(revision.metadata.name)}`] : []),
  ];
  const { items } = await kube.list(
    kinds.pod,
    { ...(namespace !== undefined && { namespace }), labelSelector: selectors.join(','), limit: PODS },
    signal,
  );
  const pods = items as Pod[];
  const lines = await Promise.all(
    pods.flatMap((pod) => {
      const restarted = pod.status?.containerStatuses?.some((status) => status.name === container && status.restartCount > 0) === true;
      return (restarted ? [true, false] : [false]).map(async (previous) => {
        const sinceTime = since(pod.metadata.name);
        const options = {
          container,
          tailLines: TAIL,
          previous,
          timestamps: true,
          ...(sinceTime !== undefined && { sinceTime }),
        };
        const text = await kube.podLog({ namespace, name: pod.metadata.name }, options, signal).catch(nothingYet);
        return linesOf(text, pod.metadata.name);
      });
    }),
  );
  return lines.flat();
}

/** A container that has not started has no log. */
function nothingYet(error: unknown): string {
  if (error instanceof NotFound || error instanceof KubeRefused) return '';
  throw error;
}
