import type { Log } from '../../log.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import type { Decision } from './decision.ts';
import { toError } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';

const TAIL_LINES = 50;
const TAIL_CHARACTERS = 16_000;

/**
 * Milliseconds within which a node must answer. One that does not may be gone, and its pod's last lines are no reason
 * to delay the result.
 */
const PATIENCE_MS = 2000;

/** Reads the last lines that a failed pod wrote. Undefined if there is nothing to read, which is no failure. */
export async function readLogTail(
  kube: Kube,
  revision: RevisionResource,
  {
    decision,
    signal,
    log,
    patience = PATIENCE_MS,
  }: { decision: Decision; signal: AbortSignal; log: Log; patience?: number },
): Promise<string | undefined> {
  const source = decision.diagnosis?.log;
  const isNews =
    ['DEPLOY_FAILED', 'BUILD_FAILED'].includes(decision.phase) &&
    revision.status?.phase !== decision.phase;
  if (source === undefined || !isNews) return undefined;
  const { pod, container, previous, namespace = revision.metadata.namespace } = source;
  const options = { container, tailLines: TAIL_LINES, previous, once: true };
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(patience)]);
    const text = await kube.readPodLog({ namespace, name: pod }, options, soon);
    return text === '' ? undefined : text.slice(-TAIL_CHARACTERS);
  } catch (error) {
    log.debug({ err: toError(error), pod }, 'no log to show');
    return undefined;
  }
}
