import { kinds } from '../../kube/kinds.ts';
import type { Kube } from '../../kube/kube.ts';
import { isTooLargeVariable } from '../../schema/platform/spec/variable-size.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';

/**
 * The Secret whose keys become the pods' environment: none is asked for, it is missing, it was not read yet, it is
 * ready under this name, it was found and has to be copied, or no process could start with the value of one key.
 */
export type Environment =
  | { secret: 'none' | 'missing' | 'unread' }
  | { secret: 'ready'; name: string }
  | { secret: 'too-large'; key: string }
  | { secret: 'to-copy'; source: { data?: Record<string, string> } };

/**
 * Finds the Secret of a revision. It is read once, when the first pods are about to be made. From then on the status
 * names it.
 */
export async function resolveEnvironment(
  { kube }: { kube: Kube },
  revision: RevisionResource,
  {
    siblings,
    isNeeded,
    signal,
  }: { siblings: RevisionResource[]; isNeeded: boolean; signal: AbortSignal },
): Promise<Environment> {
  const { namespace } = revision.metadata;
  const chosen = revision.status?.secretName;
  const wanted = revision.spec.template.secretName;
  if (chosen !== undefined) return { secret: 'ready', name: chosen };
  if (wanted === undefined) return { secret: 'none' };
  if (!isNeeded) return { secret: 'unread' };
  const name = chooseRevisionSecret(revision, siblings) ?? wanted;
  const secret = await kube.find(kinds.secret, { namespace, name }, signal);
  if (secret === undefined) return { secret: 'missing' };
  const large = Object.entries(secret.data ?? {}).find(([key, value]) =>
    isTooLargeVariable(key, Buffer.byteLength(value, 'base64')),
  );
  if (large !== undefined) return { secret: 'too-large', key: large[0] };
  // Another revision's copy is deleted with that revision.
  return secret.immutable === true && name === wanted
    ? { secret: 'ready', name }
    : { secret: 'to-copy', source: secret };
}

/**
 * Returns the name of the Secret whose values a revision gets: that of its template or, of a revision that repeats an
 * earlier one, the Secret of that one. A user's Secret may have other values by now.
 */
export function chooseRevisionSecret(
  { spec }: RevisionResource,
  siblings: RevisionResource[],
): string | undefined {
  const { secretName } = spec.template;
  const repeated = siblings.find(({ metadata }) => metadata.name === spec.rollbackOf);
  return repeated?.spec.template.secretName === secretName
    ? (repeated?.status?.secretName ?? secretName)
    : secretName;
}
