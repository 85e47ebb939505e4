import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { kinds } from '../../../kube/kinds.ts';
import type { JsonPatch, KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { CURRENT_KEY, hashGatewayKey, PREVIOUS_KEY } from '../../../schema/wire/agent-key.ts';
import { PREVIOUS_UNTIL, ROTATE_KEY } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { isRequestHandled } from '../../rollout/deployment.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { buildSetStep, buildTakeOverPatch } from '../../objects/ownership.ts';
import { writeSecret } from '../../objects/write-secret.ts';
import { isWaitingForVolumes } from '../../pods/diagnose.ts';
import { getKeyRequest, buildKeySecret, decideKeyData, type KeySecret } from '../key-secret.ts';
import type { PartReport } from '../../reports/part-report.ts';
import type { DeploymentFacts, Part } from '../part.ts';

export const key: Part = {
  prepare: keepKey,
  keeps: ['keySecret', 'keyHashes', 'keyRequest', 'keyPreviousUntil'],
};

type Pass = Pick<DeploymentFacts, 'deployment' | 'settings' | 'now'>;

/** Seconds within which most pods have their volumes. */
const PATIENCE = 30;
/** The longest time of a timer in seconds. Node's take 24.8 days at most. */
const LONGEST = 20 * 86_400;

/**
 * Keeps the key of a deployment's agents. Its Secret is not watched, because the status says all about it. It is read
 * when a new key is asked for or the one before it is over, when somebody asks for a reconcile, and when a pod waits
 * for its volumes. A settled deployment reads nothing.
 */
async function keepKey(
  deps: OperatorDeps,
  { deployment, settings, agentPods, now }: Pass & DeploymentFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const {
    keySecret: known,
    keyRequest: handled,
    keyPreviousUntil: until,
    keyHashes: hashes,
  } = deployment.status ?? {};
  const waits = countSecondsUntilLook(agentPods, now);
  const left = Math.min(
    waits,
    until === undefined ? LONGEST : (Date.parse(until) - now.getTime()) / 1000,
  );
  const isAsked = handled !== getKeyRequest(deployment) || !isRequestHandled(deployment);
  if (known !== undefined && hashes !== undefined && !isAsked && left > 0)
    return buildKeyReport(deployment, until, left, hashes);
  const wanted = await ensureKeySecret(deps, { deployment, settings, now }, signal);
  const next = wanted.metadata.annotations?.[PREVIOUS_UNTIL];
  const rest = next === undefined ? LONGEST : (Date.parse(next) - now.getTime()) / 1000;
  return buildKeyReport(deployment, next, rest, hashKeys(wanted));
}

const hashKeys = ({ data }: KeySecret): string[] =>
  [data[CURRENT_KEY], data[PREVIOUS_KEY]].flatMap((one) =>
    one === undefined ? [] : [hashGatewayKey(Buffer.from(one, 'base64').toString('utf8').trim())],
  );

function buildKeyReport(
  deployment: DeploymentResource,
  until: string | undefined,
  left: number,
  hashes: string[],
): PartReport {
  const request = getKeyRequest(deployment);
  return {
    status: {
      keySecret: names.agentKey(deployment.metadata.name),
      keyHashes: hashes,
      ...(request !== undefined && { keyRequest: request }),
      ...(until !== undefined && { keyPreviousUntil: until }),
    },
    again: left < LONGEST ? [Math.max(1, Math.ceil(left))] : [],
  };
}

/** Returns the seconds after which a pod that waits for its volumes may wait for the key. At most some days. */
function countSecondsUntilLook(pods: KubeObject[], now: Date): number {
  const since = pods
    .filter(isWaitingForVolumes)
    .map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''));
  return since.length === 0 ? LONGEST : PATIENCE - (now.getTime() - Math.min(...since)) / 1000;
}

/** Creates the Secret, or gives it the wanted data. One that has it already costs no write. */
async function ensureKeySecret(
  { kube, writer }: OperatorDeps,
  { deployment, settings, now }: Pass,
  signal: AbortSignal,
): Promise<KeySecret> {
  const made = { random: randomBytes, now, overlapHours: settings.keyOverlapHours };
  const first = buildKeySecret(deployment, decideKeyData(deployment, undefined, made));
  const { namespace, name } = first.metadata;
  const isFirst =
    deployment.metadata.generation === 1 && deployment.status?.keySecret === undefined;
  if (isFirst && (await writer.create(first, signal))) return first;
  const live = await kube.find(kinds.secret, { namespace, name }, signal);
  const wanted =
    live === undefined ? first : buildKeySecret(deployment, decideKeyData(deployment, live, made));
  await writeSecret(
    { kube, writer },
    live,
    wanted,
    [...buildTakeOverPatch(deployment, live), ...buildAnnotationPatch(live, wanted)],
    signal,
  );
  return wanted;
}

/** Returns the change of the annotations, which leaves those of others. */
function buildAnnotationPatch(live: KubeObject | undefined, wanted: KeySecret): JsonPatch {
  const annotations = {
    ...dropOwnAnnotations(live?.metadata.annotations),
    ...wanted.metadata.annotations,
  };
  return isDeepStrictEqual(live?.metadata.annotations, annotations)
    ? []
    : [buildSetStep('/metadata/annotations', annotations)];
}

function dropOwnAnnotations({
  [ROTATE_KEY]: _request,
  [PREVIOUS_UNTIL]: _until,
  ...others
}: Record<string, string> = {}): Record<string, string> {
  return others;
}
