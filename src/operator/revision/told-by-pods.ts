import type { OperatorSettings } from '../../config/operator.ts';
import { asError } from '../../errors.ts';
import type { Kube, KubeObject } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { ROLLED_OUT } from '../../schema/conditions.ts';
import { GUARDED } from '../../schema/labels.ts';
import { AGENT_CONTAINER } from '../../schema/names.ts';
import type { ReportedGuard } from '../../schema/revision.ts';
import { isApiUp } from '../family/complete.ts';
import { isTrue } from '../kernel/conditions.ts';
import { isPodReady } from '../pods/diagnose.ts';
import type { Decision } from './decision.ts';
import type { RevisionWorld } from './observe.ts';

/** Bytes of the log that are read. The line is among the first, unless a graph logs while it is loaded. */
const HEAD = 65_536;
/** Milliseconds within which a kubelet must answer. A rollout waits no longer for it. */
const PATIENCE = 5000;
const READY_LINE = /^.*"server_version":"(?<version>[\w.+-]{1,64})".*$/m;
const MOUNTED_AT = /"mount_prefix":"(?<prefix>\/[\w./~-]{1,200})"/;
const GUARDED_BY = /"guard":"(?<guard>open|key|handlers)"/;

type Rollout = {
  decision: Decision;
  world: RevisionWorld;
  settings: Pick<OperatorSettings, 'profile' | 'gateway'>;
  signal: AbortSignal;
  log: Log;
};

/** What the pods of a revision tell of themselves when they are ready. */
export type Told = { version?: string; guard?: ReportedGuard; mountPrefix?: string };

/**
 * Reads the line that a server logs when it is ready: once, when its revision has rolled out, and once more when its
 * pods were closed later. Empty if there is none. The operator may read logs anyway, so it needs no other access.
 */
export async function toldByPods(
  kube: Kube,
  revision: RevisionResource,
  { decision, world, settings, signal, log }: Rollout,
): Promise<Told> {
  const { phase, serverVersion: known } = revision.status ?? {};
  const isNews = decision.rolledOut && phase === 'DEPLOYING' && known === undefined && !isTrue(revision, ROLLED_OUT);
  const pod = world.apiPods.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? world.queuePods[0];
  if (pod === undefined || (!isNews && !wasClosed(revision, pod, { world, settings }))) return {};
  const ref = { namespace: revision.metadata.namespace, name: pod.metadata.name };
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
    return toldIn(await kube.podLog(ref, { container: AGENT_CONTAINER, limitBytes: HEAD, once: true }, soon));
  } catch (error) {
    log.debug({ err: asError(error), pod: ref.name }, 'no log to read the version from');
    return {};
  }
}

/** Returns true if pods of an older revision were replaced by pods that ask for a key, and have not told so yet. */
function wasClosed(revision: RevisionResource, pod: KubeObject, { world, settings }: Pick<Rollout, 'world' | 'settings'>): boolean {
  const { guard, phase } = revision.status ?? {};
  const isDue = phase === 'DEPLOYED' && revision.spec.guarded !== true && (guard === undefined || guard === 'open');
  return isDue && isPodReady(pod) && pod.metadata.annotations?.[GUARDED] !== undefined && isApiUp(revision, world, settings);
}

function toldIn(text: string): Told {
  const line = READY_LINE.exec(text);
  const version = line?.groups?.['version'];
  if (line === null || version === undefined) return {};
  // A server that is older than keys does not say what guards it.
  const guard = (GUARDED_BY.exec(line[0])?.groups?.['guard'] as ReportedGuard | undefined) ?? 'unknown';
  const mountPrefix = MOUNTED_AT.exec(line[0])?.groups?.['prefix'];
  return { version, guard, ...(mountPrefix !== undefined && { mountPrefix }) };
}
