import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import type { CountedKube, Kube, KubeObject, PodLogOptions } from '../../kube/kube.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotFound } from '../../errors.ts';
import { KubeRefused } from '../../kube/errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import {
  AGENTS_NAMESPACE,
  COMPONENT,
  DEPLOYMENT,
  REVISION,
  REVISION_UID,
} from '../../schema/platform/objects/labels.ts';
import { AGENT_CONTAINER, BUILD_STAGES, toLabelValue, BUILD_LOG_KEY } from '../../schema/names.ts';
import type { ControlPlane } from '../control-plane.ts';
import { compareOrder, type Line } from './best-lines.ts';
import { choosePods } from './choose-pods.ts';
import { addStage, parseLinePieces, stageId, parseLines } from './lines.ts';
import { createGunzip } from 'node:zlib';

/** How many lines are read per container. Older lines are a log store's business. */
const TAIL = 5000;
/** Characters of a time up to its second. */
const SECOND = '2026-01-01T00:00:00'.length;
/** How many times fewer lines are read when the last ones were too long for one read. */
const FEWER = 10;
/** How many pods' logs are read for one answer, and how many at a time. */
export const PODS = 20;
const AT_ONCE = 4;
/** Pods that are listed to choose from, and those of a page: one that is listed takes some 10 KB. */
const MOST_LISTED = 1000;
const LIST_PAGE = 250;
/** Bytes of a container's log that one read brings, which are held until their lines have been looked at. */
const MOST_BYTES = 1024 * 1024;

/** Which pods' lines: those of the agent servers, or of the builds of their image. */
export type LogType = 'build' | 'deploy';

export type LogSource = {
  deployment: DeploymentResource;
  revision?: RevisionResource | undefined;
  type?: LogType;
};

export type LogRequest = LogSource & {
  signal: AbortSignal;
  /** The time from which a pod's lines are wanted. All are wanted if it is undefined. */
  since?: (pod: string) => string | undefined;
};
type Pod = KubeObject & {
  status?: { containerStatuses?: { name: string; restartCount: number }[] };
};

/**
 * Takes some lines of one container, in their order. `missed` says that others, which came before them, were too
 * many to read.
 */
export type TakeLines = (lines: Line[], missed: boolean) => void | Promise<void>;

/**
 * Reads the last log lines of the agent servers or builds of a deployment or of one revision, and gives them away
 * container by container: lines are held no longer than that. Logs of deleted pods are lost. Returns the number of pods
 * whose logs were left out, because there are too many.
 */
export async function readPodLogs(
  plane: ControlPlane,
  request: LogRequest,
  take: TakeLines,
): Promise<number> {
  const { revision, type = 'deploy', signal } = request;
  if (type === 'build' && revision !== undefined) {
    let isKept = false;
    // A pod that has ended may have lost its log, or parts of it, long before it goes.
    for await (const lines of readKeptBuildLog(plane, revision, signal)) {
      isKept = true;
      await take(lines, false);
    }
    if (isKept) return 0;
  }
  const { reads: left, leftOut } = await (type === 'build'
    ? buildReads(plane, request)
    : chooseAgentReads(plane, request));
  // One after the other for each of a few readers, so that not all logs are held at a time.
  const readRemaining = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { text, missed } = await readLogText(plane.logs, next, signal);
      const newest = takeNewestLines(text);
      await take(
        await parseInTurns(addStage(newest, next.stage), next.id),
        missed || newest.length < text.length,
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readRemaining));
  return leftOut;
}

/** Parses a log, and lets other requests have their turn after each piece of it. */
async function parseInTurns(text: string, pod: string): Promise<Line[]> {
  const lines: Line[] = [];
  for (const piece of parseLinePieces(text, pod)) {
    lines.push(...piece);
    await nextTurn();
  }
  return lines.toSorted(compareOrder);
}

/** Returns the last lines of a text: a mebibyte may have half a million of them. */
function takeNewestLines(text: string): string {
  let start = text.endsWith('\n') ? text.length - 1 : text.length;
  for (let line = 0; line < TAIL; line += 1) {
    start = text.lastIndexOf('\n', start - 1);
    if (start <= 0) return text;
  }
  return text.slice(start + 1);
}

type Listing = { kube: CountedKube; config: ControlPlaneConfig };

type Reads = { reads: Read[]; leftOut: number };

/** Chooses among the agent servers of a deployment those whose logs are to be read. */
async function chooseAgentReads(
  { kube }: Listing,
  { deployment, revision, signal, since = () => undefined }: LogRequest,
): Promise<Reads> {
  const { namespace, name } = deployment.metadata;
  const selectors = [
    `${DEPLOYMENT}=${toLabelValue(name)}`,
    `${COMPONENT} in (api,queue)`,
    ...(revision ? [`${REVISION}=${toLabelValue(revision.metadata.name)}`] : []),
  ];
  const pods: Pod[] = [];
  let rest: string | undefined;
  do {
    const place = {
      ...(namespace !== undefined && { namespace }),
      labelSelector: selectors.join(','),
    };
    const page = await kube.list(
      kinds.pod,
      { ...place, limit: LIST_PAGE, ...(rest !== undefined && { continue: rest }) },
      signal,
    );
    pods.push(...(page.items as Pod[]));
    rest = page.continue;
  } while (rest !== undefined && pods.length < MOST_LISTED);
  const chosen = choosePods(pods, PODS);
  const reads = chosen.flatMap((pod): Read[] => {
    const restarted =
      pod.status?.containerStatuses?.some(
        (status) => status.name === AGENT_CONTAINER && status.restartCount > 0,
      ) === true;
    const { name: id } = pod.metadata;
    const shared = {
      ref: { namespace, name: id },
      id,
      container: AGENT_CONTAINER,
      since: since(id),
    };
    return (restarted ? [true, false] : [false]).map((previous) => ({ ...shared, previous }));
  });
  return { reads, leftOut: pods.length - chosen.length };
}

/** Lists the stages of a build in the namespaces of all builds. */
async function buildReads(
  { kube, config }: Listing,
  { deployment, revision, signal, since = () => undefined }: LogRequest,
): Promise<Reads> {
  const namespaces = [config.buildNamespace, config.buildkitNamespace].filter(
    (name) => name !== undefined,
  );
  const selectors = [
    `${DEPLOYMENT}=${toLabelValue(deployment.metadata.name)}`,
    `${AGENTS_NAMESPACE}=${deployment.metadata.namespace}`,
    `${COMPONENT}=build`,
    ...(revision ? [`${REVISION_UID}=${revision.metadata.uid}`] : []),
  ];
  const list = (namespace: string) =>
    kube.list(kinds.pod, { namespace, labelSelector: selectors.join(','), limit: PODS }, signal);
  const found = await Promise.all(
    namespaces.map(async (namespace) => (await list(namespace)).items),
  );
  // A build that goes on with BuildKit has left its first pod, whose log is then not of interest.
  const items = found.findLast((pods) => pods.length > 0) ?? [];
  const reads = items.flatMap(({ metadata }) =>
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
  return { reads, leftOut: 0 };
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
 * Reads the lines since a time, as many as one read may bring: the next read goes on behind them. Without a time, or
 * where a second brought more than one read may, it reads the last lines, and fewer of them if they are long.
 */
async function readLogText(
  logs: Kube,
  { ref, container, previous, since }: Read,
  signal: AbortSignal,
): Promise<{ text: string; missed: boolean }> {
  const shared = { container, previous, timestamps: true, limitBytes: MOST_BYTES };
  const text =
    since === undefined
      ? undefined
      : await readNewLines(logs, { ...shared, sinceTime: since }, { ref, signal });
  if (text !== undefined) return { text, missed: false };
  for (let tailLines = TAIL; ; tailLines = Math.ceil(tailLines / FEWER)) {
    const last = await logs.readPodLog(ref, { ...shared, tailLines }, signal).catch(skipMissingLog);
    // A text that was cut lacks the newest lines.
    if (Buffer.byteLength(last) < MOST_BYTES || tailLines === 1)
      return { text: last, missed: since !== undefined };
  }
}

/**
 * Reads lines since a time, which means its whole second. Returns undefined where that second alone has more than one
 * read brings, so that no read would get beyond it.
 */
async function readNewLines(
  logs: Kube,
  options: Omit<PodLogOptions, 'sinceTime'> & { sinceTime: string },
  { ref, signal }: { ref: Read['ref']; signal: AbortSignal },
): Promise<string | undefined> {
  const text = await logs.readPodLog(ref, options, signal).catch(skipMissingLog);
  if (Buffer.byteLength(text) < MOST_BYTES) return text;
  const last = text.slice(text.lastIndexOf('\n', text.length - 2) + 1);
  return last.startsWith(options.sinceTime.slice(0, SECOND))
    ? undefined
    : text.slice(0, text.lastIndexOf('\n') + 1);
}

/** A container that has not started has no log. */
function skipMissingLog(error: unknown): string {
  if (error instanceof NotFound || error instanceof KubeRefused) return '';
  throw error;
}

/** Bytes that are unpacked of a log. The operator keeps less, so more would be somebody else's. */
const MOST_UNPACKED = 32 * 1024 * 1024;
/** Bytes that are unpacked, parsed and left again at a time. */
const PIECE = 256 * 1024;
/** Characters of a line. A longer one is left out. */
const LONGEST = 1024 * 1024;

/** A stage stands between the time and the text of its lines. */
const STAGED = new RegExp(`^\\S+ \\[(${BUILD_STAGES.join('|')})\\] `);

/**
 * Reads the log of a build that has ended from the ConfigMap where the operator has kept it, piece by piece. There are
 * no pieces where nothing is kept.
 */
async function* readKeptBuildLog(
  { kube }: { kube: CountedKube },
  { metadata, status }: RevisionResource,
  signal: AbortSignal,
): AsyncGenerator<Line[]> {
  const name = status?.buildLog;
  if (name === undefined) return;
  const kept = await kube.find(kinds.configMap, { namespace: metadata.namespace, name }, signal);
  const packed = kept?.binaryData?.[BUILD_LOG_KEY];
  // Only the revision's own counts: a name in a status may be anybody's.
  const isOwn = kept?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
  if (packed === undefined || !isOwn) return;
  const stages = new StagedLines();
  for await (const text of unpackText(Buffer.from(packed, 'base64')))
    yield* stages.parseStages(text);
}

/** Parses the lines of all stages, which come in pieces. */
class StagedLines {
  /** By stage: how many lines of its last time have come. */
  readonly #times = new Map<string, Map<string, number>>();

  *parseStages(text: string): Generator<Line[]> {
    for (const [stage, lines] of Map.groupBy(text.split('\n'), (line) => STAGED.exec(line)?.[1])) {
      if (stage === undefined) continue;
      const times = this.#times.get(stage) ?? new Map<string, number>();
      yield parseLines(lines.join('\n'), stageId(stage), times);
      // Lines of one time stand together, so the last time is enough to go on.
      this.#times.set(stage, new Map([...times].slice(-1)));
    }
  }
}

/** Unpacks a text into pieces of whole lines. It ends at bytes that can't be unpacked. */
async function* unpackText(packed: Buffer): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const gunzip = createGunzip({ chunkSize: PIECE });
  gunzip.end(packed);
  let [rest, bytes] = ['', 0];
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_UNPACKED) break;
      const text = rest + decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf('\n') + 1;
      if (end > 0) yield text.slice(0, end);
      rest = text.length - end > LONGEST ? '' : text.slice(end);
    }
  } catch {
    return;
  }
  if (rest !== '') yield rest;
}
