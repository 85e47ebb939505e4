import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { isWaitingForVolumes } from '../pods/diagnose.ts';

type Source = { secretName?: unknown; name?: unknown; optional?: unknown };
type Volume = { secret?: Source | null; projected?: { sources?: { secret?: Source }[] } | null };

/**
 * Returns the names of Secrets that the pods of a revision wait for, once they wait for a volume. A node reports a
 * missing one only in events.
 */
export function secretsWaitedFor({ spec }: RevisionResource, pods: KubeObject[]): string[] {
  if (!pods.some(isWaitingForVolumes)) return [];
  const volumes = (spec.template.resourceSpec?.volumes ?? []) as Volume[];
  const sources = volumes.flatMap(({ secret, projected }) => [secret, ...(projected?.sources ?? []).map((source) => source.secret)]);
  const wanted = sources.filter((source) => source !== undefined && source !== null && source.optional !== true);
  const names = wanted.map((source) => source?.secretName ?? source?.name).filter((name) => typeof name === 'string');
  return [...new Set(names)];
}
