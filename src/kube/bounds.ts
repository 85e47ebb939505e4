import { GROUP } from '../schema/platform/objects/api-group.ts';
import { MANAGED_BY } from '../schema/platform/objects/labels.ts';
import {
  checkObjectPart,
  REST_LIMIT,
  SPEC_LIMIT,
  type ObjectFault,
} from '../schema/platform/objects/object-fault.ts';
import { stripUnreadableStatus } from '../schema/platform/resources/readable-status.ts';
import type { KubeObject } from './kube.ts';
import { isComposite } from '../schema/json.ts';

/** An object as it is kept. With a fault, parts of it are cut. */
export type Bounded<T> = { object: T; fault?: ObjectFault };

/** Removes managedFields, which are nearly half of an object and which nobody reads here. */
export function stripManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * Returns the object as readers may walk it: recursion is safe, and it is not large. A part of it (metadata, spec or
 * status) that is nested too deep or too large is cut, and the first such part is the fault. Fields outside of a
 * status's schema are left out.
 */
export function limitObject<T extends KubeObject>(given: T, specLimit = SPEC_LIMIT): Bounded<T> {
  const object = stripUnreadableStatus(given);
  let fault: ObjectFault | undefined;
  const parts: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(object)) {
    const found = checkObjectPart(name, part, name === 'spec' ? specLimit : REST_LIMIT);
    fault ??= found;
    if (found !== undefined) parts[name] = trimValue(part);
  }
  return fault === undefined ? { object } : { object: { ...object, ...parts }, fault };
}

/** Values that are kept of a part. Those near the root come first. */
const VALUES = 4000;
/** Entries that are kept of each list and map. */
const ENTRIES = 128;
const CHARACTERS = 4096;
/** Levels that are kept. A finalizer reads five levels deep. */
const LEVELS = 8;

type Container = unknown[] | Record<string, unknown>;
/**
 * Returns the part near the root of a value: its fields level by level, with long texts shortened, until enough is
 * kept. Keys of the platform come first, so that an object is found by them however much was added to it.
 */
function trimValue(root: unknown): unknown {
  let left = VALUES;
  const steps: { from: Container; to: Container; level: number }[] = [];
  const copyLimited = (value: unknown, level: number): unknown => {
    if (typeof value === 'string') return value.slice(0, CHARACTERS);
    if (!isComposite(value)) return value;
    const from = value as Container;
    const to: Container = Array.isArray(from) ? [] : {};
    if (level < LEVELS) steps.push({ from, to, level });
    return to;
  };
  const copy = copyLimited(root, 0);
  for (let next = steps.shift(); next !== undefined && left > 0; next = steps.shift()) {
    const { from, to, level } = next;
    for (const [name, value] of pickEntries(from).slice(0, left)) {
      left -= 1;
      if (Array.isArray(to)) to.push(copyLimited(value, level + 1));
      else to[name] = copyLimited(value, level + 1);
    }
  }
  return copy;
}

/** Returns the entries that are kept of a list or map. An own key `__proto__` could not be copied by assignment. */
function pickEntries(container: Container): [string, unknown][] {
  const entries = Object.entries(container).filter(([name]) => name !== '__proto__');
  if (entries.length <= ENTRIES) return entries;
  const isOurs = ([name, value]: [string, unknown]): boolean =>
    name.startsWith(`${GROUP}/`) ||
    name === MANAGED_BY ||
    (typeof value === 'string' && value.startsWith(`${GROUP}/`));
  return [...entries.filter(isOurs), ...entries.filter((entry) => !isOurs(entry))].slice(
    0,
    ENTRIES,
  );
}
