import type { JsonPatch } from '../kube/kube.ts';
import type { ObjectMeta } from '../schema/platform/objects/object-meta.ts';
import { REQUESTED_BY } from '../schema/platform/objects/labels.ts';
import type { Caller } from './caller.ts';
import { buildJsonPatch } from './json-patch.ts';

/** Returns the annotation that names the caller who asked for a write. */
export const buildRequestedBy = ({ keyId, keyName }: Caller): Record<string, string> => ({
  [REQUESTED_BY]: keyId === undefined ? `subject ${keyName}` : `key ${keyId} ${keyName}`,
});

/** Returns the patch that puts the annotation on a stored object, and other ones with it. */
export const buildRequestedByPatch = (
  { annotations }: ObjectMeta,
  caller: Caller,
  others: Record<string, string> = {},
): JsonPatch =>
  buildJsonPatch(
    annotations,
    { ...annotations, ...buildRequestedBy(caller), ...others },
    '/metadata/annotations',
  );
