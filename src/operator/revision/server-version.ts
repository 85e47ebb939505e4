import { asError } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { ROLLED_OUT } from '../../schema/conditions.ts';
import { AGENT_CONTAINER } from '../../schema/names.ts';
import { isTrue } from '../kernel/conditions.ts';
import type { Decision } from './decision.ts';
import type { RevisionWorld } from './observe.ts';

/** Bytes of the log that are read. The line is among the first, unless a graph logs while it is loaded. */
const HEAD = 65_536;
/** Milliseconds within which a kubelet must answer. A rollout waits no longer for it. */
const PATIENCE = 5000;
const VERSION = /"server_version":"([\w.+-]{1,64})"/;

type Rollout = { decision: Decision; world: RevisionWorld; signal: AbortSignal; log: Log };

/**
 * Reads the version that a server logs in its first lines, once, when its revision has rolled out. Undefined if there
 * is none. The operator may read logs anyway, so it needs no other access to the pods.
 */
export async function serverVersion(
  kube: Kube,
  revision: RevisionResource,
  { decision, world, signal, log }: Rollout,
): Promise<string | undefined> {
  const { phase, serverVersion: known } = revision.status ?? {};
  const isNews = decision.rolledOut && phase === 'DEPLOYING' && known === undefined && !isTrue(revision, ROLLED_OUT);
  const pod = world.apiPods.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? world.queuePods[0];
  if (!isNews || pod === undefined) return undefined;
  const ref = { namespace: revision.metadata.namespace, name: pod.metadata.name };
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
    return VERSION.exec(await kube.podLog(ref, { container: AGENT_CONTAINER, limitBytes: HEAD, once: true }, soon))?.[1];
  } catch (error) {
    log.debug({ err: asError(error), pod: ref.name }, 'no log to read the version from');
    return undefined;
  }
}
