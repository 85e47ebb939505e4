import type { KubeObject } from '../../kube/kube.ts';
import { objectId } from '../../kube/object-key.ts';
import { hashOf } from '../../schema/canonical-json.ts';
import { sameQuantity } from './quantity.ts';
import { isComposite } from '../../schema/json.ts';

/** The annotation with the hash of the last applied intent, on each applied object. */
export const APPLIED = 'gx.dev/applied';

// oxlint-disable-next-line house/module-state -- the answers of a pure function, kept as long as their object is
const hashes = new WeakMap<KubeObject, string>();

/**
 * Returns the hash of an intent. An intent never changes, and its hash is needed up to four times on its way to the API
 * server, so it is kept as long as the intent.
 */
export function intentHash(intent: KubeObject): string {
  const hash = hashes.get(intent) ?? hashOf(intent);
  hashes.set(intent, hash);
  return hash;
}

/** Returns the object as it is applied, with its own hash. */
export function withHash(intent: KubeObject): KubeObject {
  const annotations = { ...intent.metadata.annotations, [APPLIED]: intentHash(intent) };
  return { ...intent, metadata: { ...intent.metadata, annotations } };
}

/**
 * Returns true if the live object has all that is intended, and nothing that an earlier intent left behind. Additions
 * of others do not count.
 */
export const isAsIntended = (intent: KubeObject, live: KubeObject): boolean =>
  live.metadata.annotations?.[APPLIED] === intentHash(intent) && covers(live, intent);

/**
 * Returns true if every value of `wanted` is in `live`. Unset in `live` equals empty. Lists of named items are compared
 * by name, quantities by value.
 */
export function covers(live: unknown, wanted: unknown): boolean {
  if (wanted === undefined || wanted === null) return true;
  if (live === undefined || live === null) return isEmpty(wanted);
  if (Array.isArray(wanted)) return Array.isArray(live) && coversList(live, wanted);
  if (isComposite(wanted)) return isComposite(live) && Object.entries(wanted).every(([name, value]) => covers(live[name], value));
  return live === wanted || (typeof live === 'string' && typeof wanted === 'string' && sameQuantity(live, wanted));
}

function coversList(live: unknown[], wanted: unknown[]): boolean {
  const keyOf = (item: unknown): unknown => (isComposite(item) ? (item['name'] ?? item['uid']) : undefined);
  if (wanted.length > 0 && wanted.every((item) => keyOf(item) !== undefined)) {
    return wanted.every((item) => live.some((candidate) => keyOf(candidate) === keyOf(item) && covers(candidate, item)));
  }
  return live.length === wanted.length && wanted.every((item, index) => covers(live[index], item));
}

function isEmpty(value: unknown): boolean {
  if (value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isComposite(value) && Object.values(value).every(isEmpty);
}

/** Returns the writes by which the existing objects become the desired ones. */
export function difference(desired: KubeObject[], existing: KubeObject[]): { apply: KubeObject[]; remove: KubeObject[] } {
  const live = new Map(existing.map((object) => [objectId(object), object]));
  const wanted = new Set(desired.map(objectId));
  return {
    apply: desired.filter((intent) => {
      const known = live.get(objectId(intent));
      return known === undefined || !isAsIntended(intent, known);
    }),
    remove: existing.filter((object) => !wanted.has(objectId(object)) && object.metadata.deletionTimestamp === undefined),
  };
}
