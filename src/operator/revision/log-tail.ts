import { asError } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { Decision } from './decision.ts';

const LINES = 50;
const LENGTH = 16_000;

/** The last lines that a failed pod wrote; undefined when there is nothing to read, which is no reason to fail. */
export async function logTail(
  kube: Kube,
  revision: RevisionResource,
  { decision, signal, log }: { decision: Decision; signal: AbortSignal; log: Log },
): Promise<string | undefined> {
  const source = decision.diagnosis?.log;
  const isNews = ['DEPLOY_FAILED', 'BUILD_FAILED'].includes(decision.phase) && revision.status?.phase !== decision.phase;
  if (source === undefined || !isNews) return undefined;
  const { pod, container, previous } = source;
  const options = { container, tailLines: LINES, previous };
  try {
    const text = await kube.podLog({ namespace: revision.metadata.namespace, name: pod }, options, signal);
    return text === '' ? undefined : text.slice(-LENGTH);
  } catch (error) {
    log.debug({ err: asError(error), pod }, 'no log to show');
    return undefined;
  }
}
