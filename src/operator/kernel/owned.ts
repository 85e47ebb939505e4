import type { KubeObject } from '../../kube/kube.ts';
import { buildObjectId } from '../../kube/object-key.ts';
import { hashJson } from '../../schema/canonical-json.ts';
import { isSameQuantity } from './quantity.ts';
import { isComposite } from '../../schema/json.ts';

/** The annotation with the hash of the last applied intent, on each applied object. */
export const APPLIED = 'gx.dev/applied';

// oxlint-disable-next-line house/module-state -- the answers of a pure function, kept as long as their object is
const hashes = new WeakMap<KubeObject, string>();

/**
 * Returns the hash of an intent. An intent never changes, and its hash is needed up to four times on its way to the API
 * server, so it is kept as long as the intent.
 */
export function hashIntent(intent: KubeObject): string {
  const hash = hashes.get(intent) ?? hashJson(intent);
  hashes.set(intent, hash);
  return hash;
}

/** Returns the object as it is applied, with its own hash. */
export function addIntentHash(intent: KubeObject): KubeObject {
  const annotations = { ...intent.metadata.annotations, [APPLIED]: hashIntent(intent) };
  return { ...intent, metadata: { ...intent.metadata, annotations } };
}

/**
 * Returns true if the live object has all that is intended, and nothing that an earlier intent left behind. Additions
 * of others do not count.
 */
export const isAsIntended = (intent: KubeObject, live: KubeObject): boolean =>
  live.metadata.annotations?.[APPLIED] === hashIntent(intent) && hasAllValues(live, intent);

/**
 * Returns true if every value of `wanted` is in `live`. Unset in `live` equals empty. Lists of named items are compared
 * by name, quantities by value.
 */
export function hasAllValues(live: unknown, wanted: unknown): boolean {
  if (wanted === undefined || wanted === null) return true;
  if (live === undefined || live === null) return isEmpty(wanted);
  if (Array.isArray(wanted)) return Array.isArray(live) && hasAllItems(live, wanted);
  if (isComposite(wanted))
    return (
      isComposite(live) &&
      Object.entries(wanted).every(([name, value]) => hasAllValues(live[name], value))
    );
  return (
    live === wanted ||
    (typeof live === 'string' && typeof wanted === 'string' && isSameQuantity(live, wanted))
  );
}

function hasAllItems(live: unknown[], wanted: unknown[]): boolean {
  const getKey = (item: unknown): unknown =>
    isComposite(item) ? (item['name'] ?? item['uid']) : undefined;
  if (wanted.length > 0 && wanted.every((item) => getKey(item) !== undefined)) {
    return wanted.every((item) =>
      live.some((candidate) => getKey(candidate) === getKey(item) && hasAllValues(candidate, item)),
    );
  }
  return (
    live.length === wanted.length && wanted.every((item, index) => hasAllValues(live[index], item))
  );
}

function isEmpty(value: unknown): boolean {
  if (value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isComposite(value) && Object.values(value).every(isEmpty);
}

/** Returns the writes by which the existing objects become the desired ones. */
export function diffObjects(
  desired: KubeObject[],
  existing: KubeObject[],
): { apply: KubeObject[]; remove: KubeObject[] } {
  const live = new Map(existing.map((object) => [buildObjectId(object), object]));
  const wanted = new Set(desired.map(buildObjectId));
  return {
    apply: desired.filter((intent) => {
      const known = live.get(buildObjectId(intent));
      return known === undefined || !isAsIntended(intent, known);
    }),
    remove: existing.filter(
      (object) =>
        !wanted.has(buildObjectId(object)) && object.metadata.deletionTimestamp === undefined,
    ),
  };
}
