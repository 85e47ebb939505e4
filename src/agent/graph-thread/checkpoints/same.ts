import { type Json, isComposite } from '../../../schema/json.ts';

/**
 * Returns true when two values hold the same. Only lists, plain objects and LangChain's own objects can be compared,
 * because others may hide their values.
 */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isComposite(one) || !isComposite(other)) return Number.isNaN(one) && Number.isNaN(other);
  const prototype: unknown = Object.getPrototypeOf(one);
  if (prototype !== Object.getPrototypeOf(other)) return false;
  if (prototype === Object.prototype || prototype === null) return holdsSame(one, other);
  if (Array.isArray(one)) return one.length === other['length'] && holdsSame(one, other);
  return one['lc_serializable'] === true && isSameMessage(one, other);
}

function holdsSame(one: Json, other: Json): boolean {
  let more = 0;
  for (const name in one) {
    more += 1;
    if (!isSame(one[name], other[name]) || !Object.hasOwn(other, name)) return false;
  }
  for (const _ in other) more -= 1;
  return more === 0;
}

/** Compares the form in which LangChain writes its objects: the arguments of their constructor, as they are now. */
function isSameMessage(one: Json, other: Json): boolean {
  const [given, others] = [one['lc_kwargs'], other['lc_kwargs']];
  if (!isComposite(given) || !isComposite(others)) return false;
  const names = Object.keys(given);
  if (names.length !== Object.keys(others).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(others, name)) return false;
    const [own, its] = [fieldOf(one, name, given), fieldOf(other, name, others)];
    if (own !== its && !isSame(own, its)) return false;
  }
  return true;
}

/**
 * Returns the value that LangChain writes for a field: the object's own, else the one that its constructor was given.
 */
export function fieldOf(one: Json, name: string, given: Json): unknown {
  const value = one[name];
  return value === undefined && !(name in one) ? given[name] : value;
}
