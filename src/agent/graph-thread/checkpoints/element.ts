import { toJson } from '../serialise.ts';
import {
  createMessage,
  copyMessageData,
  readMessageName,
  setField,
  type Form,
  type Serde,
  getMessageClass,
  toMessageFields,
} from './serde.ts';
import { type Json, isComposite } from '../../../schema/json.ts';

/**
 * An element of a list as it is stored, shared by all versions that have it. Callers get new objects made from it,
 * never its own, because a graph may change them.
 */
export class Element {
  /** Parsed JSON. */
  readonly stored: unknown;
  readonly #name: string | undefined;
  readonly #isPlain: boolean;
  #message: StoredMessage | undefined;
  /** Data as a graph is given it, before the graph could change it; false where it can't be compared. */
  #pristine: { value: unknown } | false | undefined;
  #shown: { value: unknown } | undefined;
  #text: string | undefined;
  #shownText: string | undefined;
  readonly weight: number;

  constructor(stored: unknown) {
    this.stored = stored;
    this.#name = isComposite(stored) ? readMessageName(stored) : undefined;
    this.#isPlain = !isComposite(stored) || isData(stored);
    this.weight = measureWeight(stored);
  }

  get text(): string {
    return (this.#text ??= JSON.stringify(this.stored));
  }

  /** The JSON that clients get of a value that `is` this element. */
  get shownText(): string {
    const getShown = (): unknown => (this.#pristine ? this.#pristine.value : this.stored);
    return (this.#shownText ??= toJson(
      this.#name === undefined ? getShown() : this.#getMessage(this.#name).make(),
    ));
  }

  /**
   * Returns the element as a graph gets it, or as it is shown; returns a promise where only LangChain's loader can make
   * it.
   */
  restore(serde: Serde, form: Form): unknown {
    if (form === 'records' && this.#shown !== undefined) return this.#shown.value;
    if (this.#name === undefined)
      return this.#isPlain ? copyPlain(this.stored) : serde.restore(this.stored, form);
    if (form === 'objects') return this.#getMessage(this.#name).make();
    this.#shown = {
      value: createMessage(
        this.#name,
        copyMessageData((this.stored as Json)['kwargs']) as Json,
        form,
      ),
    };
    return this.#shown.value;
  }

  #getMessage(name: string): StoredMessage {
    return (this.#message ??= new StoredMessage(name, (this.stored as Json)['kwargs'] as Json));
  }

  /** Returns true when the value surely equals the stored one: it holds the same, so it would be written alike. */
  is(value: unknown, serde: Serde): boolean {
    if (!isComposite(value)) return value === this.stored;
    if (this.#name !== undefined) return this.#getMessage(this.#name).isHeldBy(value);
    this.#pristine ??= this.#isPlain ? { value: this.restore(serde, 'objects') } : false;
    return this.#pristine !== false && isSame(value, this.#pristine.value);
  }
}

/** Returns elements as a graph gets them, or as they are shown. */
export async function restoreElements(
  elements: readonly Element[],
  serde: Serde,
  form: Form,
): Promise<unknown[]> {
  const values = elements.map((element) => element.restore(serde, form));
  // A promise for each of thousands would take longer than making them.
  for (let at = 0; at < values.length; at += 1)
    if (values[at] instanceof Promise) values[at] = await values[at];
  return values;
}

const UNDEFINED = 'undefined';

/** Returns true for a value that JSON alone can express, and for LangGraph's record of an undefined one. */
function isData(value: Json): boolean {
  if (Array.isArray(value)) return value.every((part) => !isComposite(part) || isData(part));
  if ('lc' in value) return value['lc'] === 2 && value['type'] === UNDEFINED;
  return (
    !('__lc_escaped__' in value) &&
    Object.values(value).every((part) => !isComposite(part) || isData(part))
  );
}

function copyPlain(value: unknown): unknown {
  if (!isComposite(value)) return value;
  if (Array.isArray(value)) return value.map(copyPlain);
  if ('lc' in value && value['type'] === UNDEFINED) return undefined;
  const copy: Json = {};
  for (const name of Object.keys(value)) setField(copy, name, copyPlain(value[name]));
  return copy;
}

/**
 * Bytes that an object adds. A message is held as it is stored and as an object to compare with; both share its texts,
 * but not its fields.
 */
const OF_AN_OBJECT = 200;

function measureWeight(value: unknown): number {
  if (typeof value === 'string') return 2 * value.length;
  if (!isComposite(value)) return 16;
  return Object.values(value).reduce<number>(
    (sum, part) => sum + measureWeight(part),
    OF_AN_OBJECT,
  );
}

/** The fields that LangChain would write of a message that nobody has changed. */
type Unchanged = { prototype: object; names: string[]; fields: unknown[] };

/**
 * A message of plain data as it is stored. A long thread makes each of its messages once a run and compares it with
 * each step, so both are quick: the values that they need are found once.
 */
class StoredMessage {
  readonly #class: new (fields: Json) => object;
  /** The constructor's argument. Nobody is given the objects in it. */
  readonly #fields: Json;
  /** Names of the fields that hold objects. */
  readonly #parts: string[];
  #unchanged: Unchanged | undefined;

  constructor(name: string, kwargs: Json) {
    this.#class = getMessageClass(name);
    this.#fields = toMessageFields(name, kwargs);
    this.#parts = Object.keys(this.#fields).filter(
      (field) => typeof this.#fields[field] === 'object' && this.#fields[field] !== null,
    );
  }

  /** Returns a message that shares no object with another one. */
  make(): object {
    const given = { ...this.#fields };
    for (const part of this.#parts) given[part] = copyMessageData(given[part]);
    return new this.#class(given);
  }

  /** Returns true when the value surely equals the stored message, so that it would be written alike. */
  isHeldBy(value: object): boolean {
    const { prototype, names, fields } = (this.#unchanged ??= buildUnchanged(this.make() as Json));
    if (Object.getPrototypeOf(value) !== prototype) return false;
    const one = value as Json;
    const given = one['lc_kwargs'];
    if (!isComposite(given)) return false;
    let at = 0;
    for (const name in given) {
      const own = getField(one, name, given);
      // Nearly always the fields come in the order that they have here.
      const field = names[at] === name ? at : names.indexOf(name);
      if (field === -1 || (own !== fields[field] && !isSame(own, fields[field]))) return false;
      at += 1;
    }
    return at === names.length;
  }
}

function buildUnchanged(made: Json): Unchanged {
  const given = made['lc_kwargs'] as Json;
  const names = Object.keys(given);
  return {
    prototype: Object.getPrototypeOf(made) as object,
    names,
    fields: names.map((name) => getField(made, name, given)),
  };
}

/**
 * Returns true when two values hold the same. Only lists, plain objects and LangChain's own objects can be compared,
 * because others may hide their values.
 */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isComposite(one) || !isComposite(other)) return Number.isNaN(one) && Number.isNaN(other);
  const prototype: unknown = Object.getPrototypeOf(one);
  if (prototype !== Object.getPrototypeOf(other)) return false;
  if (prototype === Object.prototype || prototype === null) return hasSameFields(one, other);
  if (Array.isArray(one)) return one.length === other['length'] && hasSameFields(one, other);
  return one['lc_serializable'] === true && isSameMessage(one, other);
}

function hasSameFields(one: Json, other: Json): boolean {
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
    const [own, its] = [getField(one, name, given), getField(other, name, others)];
    if (own !== its && !isSame(own, its)) return false;
  }
  return true;
}

/**
 * Returns the value that LangChain writes for a field: the object's own, else the one that its constructor was given.
 */
function getField(one: Json, name: string, given: Json): unknown {
  const value = one[name];
  return value === undefined && !(name in one) ? given[name] : value;
}
