import { NotFound } from '../../errors.ts';
import { KubeRefused } from '../../kube/errors.ts';
import { kinds, type Kube, type KubeObject, type PodLogOptions } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { AGENTS_NAMESPACE, COMPONENT, DEPLOYMENT, REVISION, REVISION_UID } from '../../schema/labels.ts';
import { AGENT_CONTAINER, BUILD_CONTAINER, BUILD_STAGES, labelValue } from '../../schema/names.ts';
import type { ControlPlane } from '../control-plane.ts';
import { keptBuildLog } from './kept-log.ts';
import { inStage, type Line, linesOf, stageId } from './lines.ts';

/** How many lines are read per container. Older lines are a log store's business. */
const TAIL = 5000;
/** Characters of a time up to its second. */
const SECOND = '2026-01-01T00:00:00'.length;
/** How many times fewer lines are read when the last ones were too long for one read. */
const FEWER = 10;
/** How many pods' logs are read for one answer, and how many at a time. */
const PODS = 20;
const AT_ONCE = 4;
/** Bytes of a container's log that one read brings, which are held until their lines have been looked at. */
const MOST_BYTES = 1024 * 1024;

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
  /** Returns true for a line that is wanted. */
  wants?: (line: Line) => boolean;
};
type Pod = KubeObject & { status?: { containerStatuses?: { name: string; restartCount: number }[] } };

/**
 * Reads the last log lines of the agent servers or builds of a deployment or of one revision. Logs of deleted pods are
 * lost.
 */
export async function podLogs(plane: Pick<ControlPlane, 'kube' | 'logs' | 'config'>, request: LogRequest): Promise<Line[]> {
  const { revision, type = 'deploy', signal, wants = () => true } = request;
  // A pod that has ended may have lost its log, or parts of it, long before it goes.
  const kept = type === 'build' && revision !== undefined ? await keptBuildLog(plane, revision, signal) : [];
  if (kept.length > 0) return kept.filter(wants);
  const reads = await readsOf(plane, request);
  const staged = type === 'build' && plane.config.buildNamespace !== undefined ? await stagedReads(plane, request) : [];
  const left = [...reads, ...staged];
  const lines: Line[][] = [];
  // One after the other for each of a few readers, so that not all logs are held at a time.
  const reader = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      lines.push(linesOf(inStage(await logOf(plane.logs, next, signal), next.stage), next.id).filter(wants));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
  return lines.flat();
}

type Listing = Pick<ControlPlane, 'kube' | 'config'>;

/** Lists what is to be read in the deployment's own namespace. */
async function readsOf(
  { kube }: Listing,
  { deployment, revision, type = 'deploy', signal, since = () => undefined }: LogRequest,
): Promise<Read[]> {
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
  return (items as Pod[]).flatMap((pod): Read[] => {
    const restarted = pod.status?.containerStatuses?.some((status) => status.name === container && status.restartCount > 0) === true;
    const { name: id } = pod.metadata;
    const shared = { ref: { namespace, name: id }, id, container, since: since(id) };
    return (restarted ? [true, false] : [false]).map((previous) => ({ ...shared, previous }));
  });
}

/** Lists the stages of a build in the namespace of all builds. */
async function stagedReads(
  { kube, config }: Listing,
  { deployment, revision, signal, since = () => undefined }: LogRequest,
): Promise<Read[]> {
  const namespaces = [config.buildNamespace, config.buildkitNamespace].filter((name) => name !== undefined);
  const selectors = [
    `${DEPLOYMENT}=${labelValue(deployment.metadata.name)}`,
    `${AGENTS_NAMESPACE}=${deployment.metadata.namespace}`,
    `${COMPONENT}=build`,
    ...(revision ? [`${REVISION_UID}=${revision.metadata.uid}`] : []),
  ];
  const list = (namespace: string) => kube.list(kinds.pod, { namespace, labelSelector: selectors.join(','), limit: PODS }, signal);
  const found = await Promise.all(namespaces.map(async (namespace) => (await list(namespace)).items));
  // A build that goes on with BuildKit has left its first pod, whose log is then not of interest.
  const items = found.findLast((pods) => pods.length > 0) ?? [];
  return items.flatMap(({ metadata }) =>
    BUILD_STAGES.map((stage) => {
      const id = stageId(stage);
      return {
        ref: { namespace: metadata.namespace, name: metadata.name },
        id,
        stage,
        container: stage,
        previous: false,
        since: since(id),
      };
    }),
  );
}

/** `id` names the source of the lines in their order; `stage` is put before each of them. */
type Read = {
  ref: { namespace: string | undefined; name: string };
  id: string;
  stage?: string;
  container: string;
  previous: boolean;
  since: string | undefined;
};

/**
 * Reads the lines since a time, as many as one read may bring: the next read goes on behind them. Without a time, it
 * reads the last lines, and fewer of them if they are long.
 */
async function logOf(logs: Pick<Kube, 'podLog'>, { ref, container, previous, since }: Read, signal: AbortSignal): Promise<string> {
  const shared = { container, previous, timestamps: true, limitBytes: MOST_BYTES };
  if (since !== undefined) return newLines(logs, { ...shared, sinceTime: since }, { ref, signal });
  for (let tailLines = TAIL; ; tailLines = Math.ceil(tailLines / FEWER)) {
    const text = await logs.podLog(ref, { ...shared, tailLines }, signal).catch(nothingYet);
    // A text that was cut lacks the newest lines.
    if (Buffer.byteLength(text) < MOST_BYTES || tailLines === 1) return text;
  }
}

type NewLines = Omit<PodLogOptions, 'sinceTime'> & { sinceTime: string };

/**
 * Reads lines since a time, which means its whole second. More than one read brings in a second are read as a whole.
 */
async function newLines(logs: Pick<Kube, 'podLog'>, options: NewLines, { ref, signal }: { ref: Read['ref']; signal: AbortSignal }) {
  const text = await logs.podLog(ref, options, signal).catch(nothingYet);
  const second = options.sinceTime.slice(0, SECOND);
  const isCut = Buffer.byteLength(text) >= MOST_BYTES;
  const last = text.slice(text.lastIndexOf('\n', text.length - 2) + 1);
  if (!isCut || !last.startsWith(second)) return isCut ? text.slice(0, text.lastIndexOf('\n') + 1) : text;
  const { limitBytes: _limit, ...all } = options;
  return logs.podLog(ref, all, signal).catch(nothingYet);
}

/** A container that has not started has no log. */
function nothingYet(error: unknown): string {
  if (error instanceof NotFound || error instanceof KubeRefused) return '';
  throw error;
}
