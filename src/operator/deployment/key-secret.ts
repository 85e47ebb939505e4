import type { KubeObject } from '../../kube/kube.ts';
import { CURRENT_KEY, buildAgentKey, PREVIOUS_KEY } from '../../schema/wire/agent-key.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { PREVIOUS_UNTIL, ROTATE_KEY, SECRETS_OF } from '../../schema/platform/objects/labels.ts';
import { toLabelValue, names } from '../../schema/names.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import { buildOwnedMetadata } from '../objects/metadata.ts';

/** Characters of a request that the status keeps. */
const KEPT = 128;

type Data = Record<string, string>;
type KeyData = { data: Data; annotations: Record<string, string> };
type KeyRenewal = { random: (bytes: number) => Buffer; now: Date; overlapHours: number };
export type KeySecret = KubeObject & { data: Data };

/** Returns the last request for a new key, as the status keeps it. */
export const getKeyRequest = ({ metadata }: DeploymentResource): string | undefined =>
  metadata.annotations?.[ROTATE_KEY]?.slice(0, KEPT);

/** Returns the Secret of a key. It is deleted with its deployment; the finalizer finds it by its label. */
export function buildKeySecret(
  deployment: DeploymentResource,
  { data, annotations }: KeyData,
): KeySecret {
  const metadata = buildOwnedMetadata(deployment, 'key', names.agentKey(deployment.metadata.name));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [SECRETS_OF]: toLabelValue(deployment.metadata.name) },
      annotations: { ...metadata.annotations, ...annotations },
    },
    type: 'Opaque',
    data,
  };
}

type Live = { data?: Data; metadata: { annotations?: Record<string, string> } };

/**
 * Returns the wanted data of the Secret. A key that is there stays until another one is asked for, and then it opens
 * the agents for some hours beside the new one.
 */
export function decideKeyData(
  deployment: DeploymentResource,
  live: Live | undefined,
  made: KeyRenewal,
): KeyData {
  const asked = getKeyRequest(deployment);
  const { data = {}, metadata } = live ?? { metadata: {} };
  const current = data[CURRENT_KEY] ?? '';
  const isSame = asked === undefined || asked === metadata.annotations?.[ROTATE_KEY];
  if (current !== '' && isSame) return pickCurrentKeyData({ data, metadata }, current, made);
  const next = { [CURRENT_KEY]: Buffer.from(buildAgentKey(made.random)).toString('base64') };
  const request = asked === undefined ? {} : { [ROTATE_KEY]: asked };
  if (current === '' || made.overlapHours === 0) return { data: next, annotations: request };
  const until = formatKubernetesTime(new Date(made.now.getTime() + made.overlapHours * 3_600_000));
  return {
    data: { ...next, [PREVIOUS_KEY]: current },
    annotations: { ...request, [PREVIOUS_UNTIL]: until },
  };
}

/** Returns the same key, and the one before it while its time lasts. */
function pickCurrentKeyData(
  { data = {}, metadata: { annotations = {} } }: Live,
  current: string,
  { now }: KeyRenewal,
): KeyData {
  const { [ROTATE_KEY]: fulfilled, [PREVIOUS_UNTIL]: until } = annotations;
  const previous = data[PREVIOUS_KEY];
  const kept = fulfilled === undefined ? {} : { [ROTATE_KEY]: fulfilled };
  if (previous === undefined || until === undefined || !(new Date(until) > now))
    return { data: { [CURRENT_KEY]: current }, annotations: kept };
  return {
    data: { [CURRENT_KEY]: current, [PREVIOUS_KEY]: previous },
    annotations: { ...kept, [PREVIOUS_UNTIL]: until },
  };
}
