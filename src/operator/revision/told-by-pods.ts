import { asError } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { ROLLED_OUT } from '../../schema/conditions.ts';
import { AGENT_CONTAINER } from '../../schema/names.ts';
import type { ReportedGuard } from '../../schema/revision.ts';
import { isTrue } from '../kernel/conditions.ts';
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
  signal: AbortSignal;
  log: Log;
};

/** What the pods of a revision tell of themselves when they are ready. */
export type Told = { version?: string; guard?: ReportedGuard; mountPrefix?: string };

/**
 * Reads the line that a server logs when it is ready, once its revision has rolled out. Empty if there is none. The
 * operator may read logs anyway, so it needs no other access.
 */
export async function toldByPods(kube: Kube, revision: RevisionResource, { decision, world, signal, log }: Rollout): Promise<Told> {
  const { phase, serverVersion: known } = revision.status ?? {};
  const isNews = decision.rolledOut && phase === 'DEPLOYING' && known === undefined && !isTrue(revision, ROLLED_OUT);
  const pod = world.apiPods.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? world.queuePods[0];
  if (pod === undefined || !isNews) return {};
  const ref = { namespace: revision.metadata.namespace, name: pod.metadata.name };
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
    return toldIn(await kube.podLog(ref, { container: AGENT_CONTAINER, limitBytes: HEAD, once: true }, soon));
  } catch (error) {
    log.debug({ err: asError(error), pod: ref.name }, 'no log to read the version from');
    return {};
  }
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
