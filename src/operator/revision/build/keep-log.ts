import type { Writer } from '../../kernel/writer.ts';
import type { Kube } from '../../../kube/kube.ts';
import { toError, Problem } from '../../../errors.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { Log } from '../../../log.ts';
import { type RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../schema/platform/objects/api-group.ts';
import {
  DEPLOYMENT,
  buildManagedLabels,
  REVISION,
} from '../../../schema/platform/objects/labels.ts';
import { BUILD_LOG_KEY, BUILD_STAGES, names } from '../../../schema/names.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { Decision } from '../decision.ts';
import type { BuildWorld } from './observe.ts';
import { gzipSync } from 'node:zlib';

/** Milliseconds within which a node must answer for each stage. One that does not may be gone. */
const PATIENCE = 10_000;

/**
 * Bytes that are read of a stage's log. Nodes keep 10 MiB of a container unless they are configured otherwise, and here
 * are the logs of all stages at once.
 */
const MOST_BYTES = 8 * 1024 * 1024;
/** Lines that are read from the end of a longer log. The builder cuts lines at 2,000 characters. */
const LAST_LINES = 4000;

/**
 * Keeps the whole log of a build that has just ended in a ConfigMap of its revision, because the log goes with the pod.
 * Returns the ConfigMap's name. Undefined if there is nothing to keep; a log that can't be read is no failure.
 */
export async function keepBuildLog(
  deps: { kube: Kube; writer: Writer },
  revision: RevisionResource,
  {
    decision,
    build,
    signal,
    log,
  }: { decision: Decision; build: BuildWorld | undefined; signal: AbortSignal; log: Log },
): Promise<string | undefined> {
  const pod = build?.pod;
  if (pod === undefined || revision.status?.buildLog !== undefined) return undefined;
  if (!hasEnded(decision)) return undefined;
  try {
    const stages = await readStageLogs(deps, pod, signal, log);
    if (stages.every(({ text }) => text === '')) return undefined;
    const object = logObject(revision, packBuildLog(stages));
    // One that is there was kept by an operator that died before it reported it.
    await deps.writer.create(object, signal);
    return object.metadata.name;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    log.warn({ err: error, pod: pod.metadata.name }, 'the log of a build is not kept');
    return undefined;
  }
}

const hasEnded = ({ phase, image }: Decision): boolean =>
  phase === 'BUILD_FAILED' || phase === 'INTERRUPTED' || image !== undefined;

async function readStageLogs(
  { kube }: { kube: Kube },
  { metadata }: KubeObject,
  signal: AbortSignal,
  log: Log,
): Promise<StageLog[]> {
  const logs: StageLog[] = [];
  for (const stage of BUILD_STAGES) {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
    const text = await readNewestLines(kube, metadata, { container: stage, signal: soon }).catch(
      (error: unknown) => {
        // A stage that has not begun has no log.
        log.debug({ err: toError(error), stage }, 'no log of this stage');
        return '';
      },
    );
    logs.push({ stage, text });
  }
  return logs;
}

/** A limit of bytes counts from a log's beginning, so of a longer one the last lines are asked for. */
async function readNewestLines(
  kube: OperatorDeps['kube'],
  { namespace, name }: KubeObject['metadata'],
  { container, signal }: { container: string; signal: AbortSignal },
): Promise<string> {
  const options = { container, timestamps: true, once: true, limitBytes: MOST_BYTES };
  const text = await kube.readPodLog({ namespace, name }, options, signal);
  return Buffer.byteLength(text) < MOST_BYTES
    ? text
    : kube.readPodLog({ namespace, name }, { ...options, tailLines: LAST_LINES }, signal);
}

const logObject = ({ metadata, spec }: RevisionResource, packed: Buffer): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: names.buildLog(metadata.name),
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    labels: buildManagedLabels(spec.deployment, 'build', metadata.name),
    annotations: { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name },
    ownerReferences: [
      {
        apiVersion: API_VERSION,
        kind: 'Revision',
        name: metadata.name,
        uid: metadata.uid ?? '',
        controller: true,
      },
    ],
  },
  immutable: true,
  binaryData: { [BUILD_LOG_KEY]: packed.toString('base64') },
});

/** The whole log of one stage. Each line begins with its time. */
type StageLog = { stage: string; text: string };

/** Bytes that a packed log may have. A ConfigMap takes 1 MiB. */
const MOST_PACKED = 900 * 1024;
/** Characters that are tried first. Logs pack to a tenth, and rarely to less than a thirtieth. */
const MOST_CHARACTERS = 30 * MOST_PACKED;

/** Returns the logs of a build's stages as one text, gzipped. Of a long one, the newest lines that fit are kept. */
export function packBuildLog(stages: readonly StageLog[], most = MOST_PACKED): Buffer {
  let text = trimToNewest(
    stages.map(({ stage, text: lines }) => markStage(stage, lines)).join(''),
    MOST_CHARACTERS,
  );
  for (;;) {
    const packed = gzipSync(text);
    if (packed.length <= most || text === '') return packed;
    // A tenth less than the share that would fit if all of it packed alike, so that few rounds are needed.
    text = trimToNewest(text, Math.floor((text.length * most * 0.9) / packed.length));
  }
}

/** Lines of a container begin with a time. A node that no longer has a log answers with a sentence in its place. */
const TIMED = /^\d{4}-\d\d-\d\dT\S+ /;

/** Puts the stage's name behind the time of each line. */
const markStage = (stage: string, lines: string): string =>
  lines
    .split('\n')
    .filter((line) => TIMED.test(line))
    .map((line) => `${line.replace(/^(\S+) /, `$1 [${stage}] `)}\n`)
    .join('');

/** Returns the last whole lines of a text, of so many characters at most. */
function trimToNewest(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(text.length - most);
  return cut.slice(cut.indexOf('\n') + 1);
}
