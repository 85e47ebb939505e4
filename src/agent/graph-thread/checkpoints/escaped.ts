import { types } from 'node:util';
import { DeltaSnapshot } from '@langchain/langgraph-checkpoint';
import { type Json, isComposite, isObject } from '../../../schema/json.ts';

/*
 * Data may look like a record in which LangGraph or LangChain writes an object of some class. Where a value holds such
 * data, it is marked when it is stored, so that it comes back as the data that it was.
 */

/** The type of the record in which data that looks like a record stands. */
const ESCAPED = 'escaped';

/** The types of LangGraph's records, and of the one above. */
const TYPES: ReadonlySet<unknown> = new Set([
  'constructor',
  'undefined',
  'delta_snapshot',
  ESCAPED,
]);

/** Returns true for data that would be read as something else. All such records have `lc`. */
const isRecordLike = ({ lc, type }: Json): boolean =>
  (lc === 2 && TYPES.has(type)) || (lc === 1 && type === 'constructor');

/** Returns the data that a record holds, which its reader does not interpret; undefined for any other record. */
export function readEscapedData({ lc, type, value }: Json): Json | undefined {
  return lc === 2 && type === ESCAPED && isObject(value) ? value : undefined;
}

/** Returns true for objects that hold no data of others. */
const isClosed = (value: Json): boolean =>
  types.isNativeError(value) ||
  types.isRegExp(value) ||
  types.isBoxedPrimitive(value) ||
  ArrayBuffer.isView(value);

/**
 * Returns a copy of the value with all data marked that looks like a record. Maps, sets and other values with a form of
 * their own stay unchanged; messages mark their data themselves.
 */
export function escapeRecords(value: unknown, known = new Map<object, unknown>()): unknown {
  if (!isComposite(value) || isClosed(value)) return value;
  const before = known.get(value);
  if (before !== undefined) return before;
  // JSON has such an object in a form of its own, and not field by field.
  if (typeof value['toJSON'] === 'function') return escapeForm(value, known);
  if (value instanceof Map)
    return copyParts(value, new Map<unknown, unknown>(), known, (copy, part) =>
      copy.set(...(part as [unknown, unknown])),
    );
  if (value instanceof Set)
    return copyParts(value, new Set<unknown>(), known, (copy, part) => copy.add(part));
  if (Array.isArray(value))
    return copyParts(value, [] as unknown[], known, (copy, part) => copy.push(part));
  if (value instanceof DeltaSnapshot) return new DeltaSnapshot(escapeRecords(value.value, known));
  const copy: Json = {};
  known.set(value, isRecordLike(value) ? { lc: 2, type: ESCAPED, value: copy } : copy);
  for (const [name, part] of Object.entries(value))
    Object.defineProperty(copy, name, {
      value: escapeRecords(part, known),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  return known.get(value);
}

/** Copies the parts of a collection, which may hold itself. A map's parts are pairs. */
function copyParts<C extends object>(
  value: Iterable<unknown> & object,
  copy: C,
  known: Map<object, unknown>,
  add: (copy: C, part: unknown) => void,
): C {
  known.set(value, copy);
  const escapePart = (one: unknown): unknown =>
    value instanceof Map
      ? (one as unknown[]).map((of) => escapeRecords(of, known))
      : escapeRecords(one, known);
  for (const one of value) add(copy, escapePart(one));
  // LangGraph writes the name of the class, which may be one of the graph's own.
  return Object.setPrototypeOf(copy, Object.getPrototypeOf(value) as object | null) as C;
}

/** A message's own form is a record, and is left to it. Other forms, such as that of a `Send`, are data. */
function escapeForm(value: Json, known: Map<object, unknown>): unknown {
  const form = (value['toJSON'] as () => unknown)();
  if (!isComposite(form) || form === value || isRecordLike(form)) return value;
  known.set(value, value);
  const copy = escapeRecords(form, known);
  known.set(value, copy);
  return copy;
}

/** Thrown for values that JSON can't write without LangGraph's help, or does not read as LangGraph writes it. */
const EXOTIC = new Error('exotic');
/** Thrown for data that looks like a record of a class. */
const LOOKALIKE = new Error('lookalike');
const UNDEFINED = { lc: 2, type: 'undefined' };

function requirePlain(_: string, value: unknown): unknown {
  if (value === undefined) return UNDEFINED;
  if (!isObject(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw EXOTIC;
  return value;
}

/**
 * Does the same, and refuses data that looks like a record. The record that `toJSON` has just made of a message is no
 * data.
 */
function requireUnmarked(this: Json, name: string, value: unknown): unknown {
  if (
    isComposite(value) &&
    value['lc'] !== undefined &&
    this[name] === value &&
    isRecordLike(value)
  )
    throw LOOKALIKE;
  return requirePlain(name, value);
}

/**
 * Returns the JSON of plain data and messages, with data marked that looks like a record. Returns undefined for a value
 * with a cycle, or with a class that LangGraph knows.
 */
export function toDataJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, requireUnmarked);
  } catch (error) {
    return error === LOOKALIKE ? toMarkedJson(value) : undefined;
  }
}

function toMarkedJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(escapeRecords(value), requirePlain);
  } catch {
    return undefined;
  }
}
