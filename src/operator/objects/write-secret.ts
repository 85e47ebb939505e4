import type { Writer } from '../kernel/writer.ts';
import type { Kube } from '../../kube/kube.ts';
import { isDeepStrictEqual } from 'node:util';
import { Unavailable } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { JsonPatch, KubeObject } from '../../kube/kube.ts';
import { buildSetStep } from './ownership.ts';

/**
 * Creates a Secret, or gives it the wanted data. One that has it already costs no write. Throws `Unavailable` if
 * somebody else has created it just now, and a conflict if it has changed since it was read.
 */
export async function writeSecret(
  { kube, writer }: { kube: Kube; writer: Writer },
  /** The Secret as it was read. Undefined: there was none. */
  live: KubeObject | undefined,
  wanted: KubeObject & {
    data: Record<string, string>;
  },
  /** Changes besides the data, such as that of its owner. */
  more: JsonPatch,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = wanted.metadata;
  if (live === undefined) {
    if (await writer.create(wanted, signal)) return;
    throw new Unavailable(`Secret ${name} was created by somebody else just now.`);
  }
  const changes = [
    ...more,
    ...(isDeepStrictEqual(live.data, wanted.data) ? [] : [buildSetStep('/data', wanted.data)]),
  ];
  const isAsSeen = {
    op: 'test' as const,
    path: '/metadata/resourceVersion',
    value: live.metadata.resourceVersion,
  };
  if (changes.length > 0)
    await kube.patchJson(kinds.secret, { namespace, name }, [isAsSeen, ...changes], {}, signal);
}
