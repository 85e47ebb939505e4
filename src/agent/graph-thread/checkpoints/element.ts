import { toJson } from '../serialise.ts';
import { message, messageData, messageName, plainMessageOf, setField, type Form, type Serde } from './serde.ts';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/**
 * An element of a list as it is stored, shared by all versions that have it. Nobody is given what it holds, only what
 * is made from it anew, because a graph may change what it is given.
 */
export class Element {
  /** Parsed JSON. */
  readonly stored: unknown;
  readonly #name: string | undefined;
  readonly #isPlain: boolean;
  /** What a graph is given, before the graph could change it; false where it can't be compared. */
  #pristine: { value: unknown } | false | undefined;
  #shown: { value: unknown } | undefined;
  #text: string | undefined;
  #shownText: string | undefined;
  /** The approximate bytes that the element takes. */
  readonly weight: number;

  constructor(stored: unknown) {
    this.stored = stored;
    this.#name = isObject(stored) ? messageName(stored) : undefined;
    this.#isPlain = !isObject(stored) || isData(stored);
    this.weight = weigh(stored);
  }

  get text(): string {
    return (this.#text ??= JSON.stringify(this.stored));
  }

  /** The JSON that clients get of a value that `is` this element. */
  get shownText(): string {
    return (this.#shownText ??= toJson(this.#pristine ? this.#pristine.value : this.stored));
  }

  /**
   * Returns the element as a graph gets it, or as it is shown; returns a promise where only LangChain's loader can make
   * it.
   */
  live(serde: Serde, form: Form): unknown {
    if (form === 'records' && this.#shown !== undefined) return this.#shown.value;
    if (this.#name === undefined) return this.#isPlain ? copied(this.stored) : serde.revive(this.stored, form);
    const kwargs = (this.stored as Json)['kwargs'] as Json;
    if (form === 'objects') return plainMessageOf(this.#name, kwargs);
    this.#shown = { value: message(this.#name, messageData(kwargs) as Json, form) };
    return this.#shown.value;
  }

  /** Returns true when the value is surely what is stored here: it holds the same, so it would be written alike. */
  is(value: unknown, serde: Serde): boolean {
    if (!isObject(value)) return value === this.stored;
    this.#pristine ??= this.#name !== undefined || this.#isPlain ? { value: this.live(serde, 'objects') } : false;
    return this.#pristine !== false && isSame(value, this.#pristine.value);
  }
}

/** Returns elements as a graph gets them, or as they are shown. */
export async function allLive(elements: readonly Element[], serde: Serde, form: Form): Promise<unknown[]> {
  const values = elements.map((element) => element.live(serde, form));
  // A promise for each of thousands would take longer than making them.
  for (const [at, value] of values.entries()) if (value instanceof Promise) values[at] = await value;
  return values;
}

const UNDEFINED = 'undefined';

/** Returns true for what JSON alone can express, and for LangGraph's record of what is undefined. */
function isData(value: Json): boolean {
  if (Array.isArray(value)) return value.every((part) => !isObject(part) || isData(part));
  if ('lc' in value) return value['lc'] === 2 && value['type'] === UNDEFINED;
  return !('__lc_escaped__' in value) && Object.values(value).every((part) => !isObject(part) || isData(part));
}

function copied(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.map(copied);
  if ('lc' in value && value['type'] === UNDEFINED) return undefined;
  const copy: Json = {};
  for (const name of Object.keys(value)) setField(copy, name, copied(value[name]));
  return copy;
}

/**
 * Returns true when two values hold the same. Only lists, plain objects and LangChain's own objects can be compared,
 * because others may hide what they hold.
 */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return Number.isNaN(one) && Number.isNaN(other);
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

/** Compares what LangChain writes of its objects, which is what their constructor was given, as it is now. */
function isSameMessage(one: Json, other: Json): boolean {
  const [given, others] = [one['lc_kwargs'], other['lc_kwargs']];
  if (!isObject(given) || !isObject(others)) return false;
  const names = Object.keys(given);
  if (names.length !== Object.keys(others).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(others, name)) return false;
    const [own, its] = [fieldOf(one, name, given), fieldOf(other, name, others)];
    if (own !== its && !isSame(own, its)) return false;
  }
  return true;
}

function fieldOf(one: Json, name: string, given: Json): unknown {
  const value = one[name];
  return value === undefined && !(name in one) ? given[name] : value;
}

/**
 * Bytes that an object adds. A message is held as it is stored and as an object to compare with; both share its texts,
 * but not its fields.
 */
const OF_AN_OBJECT = 200;

function weigh(value: unknown): number {
  if (typeof value === 'string') return 2 * value.length;
  if (!isObject(value)) return 16;
  return Object.values(value).reduce<number>((sum, part) => sum + weigh(part), OF_AN_OBJECT);
}
