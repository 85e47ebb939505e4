import { toJson } from '../serialise.ts';
import { isSame } from './same.ts';
import { message, messageData, messageName, setField, type Form, type Serde } from './serde.ts';
import { StoredMessage } from './stored-message.ts';
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
  /** The approximate bytes that the element takes. */
  readonly weight: number;

  constructor(stored: unknown) {
    this.stored = stored;
    this.#name = isComposite(stored) ? messageName(stored) : undefined;
    this.#isPlain = !isComposite(stored) || isData(stored);
    this.weight = weigh(stored);
  }

  get text(): string {
    return (this.#text ??= JSON.stringify(this.stored));
  }

  /** The JSON that clients get of a value that `is` this element. */
  get shownText(): string {
    const shown = (): unknown => (this.#pristine ? this.#pristine.value : this.stored);
    return (this.#shownText ??= toJson(this.#name === undefined ? shown() : this.#messageOf(this.#name).make()));
  }

  /**
   * Returns the element as a graph gets it, or as it is shown; returns a promise where only LangChain's loader can make
   * it.
   */
  live(serde: Serde, form: Form): unknown {
    if (form === 'records' && this.#shown !== undefined) return this.#shown.value;
    if (this.#name === undefined) return this.#isPlain ? copied(this.stored) : serde.revive(this.stored, form);
    if (form === 'objects') return this.#messageOf(this.#name).make();
    this.#shown = { value: message(this.#name, messageData((this.stored as Json)['kwargs']) as Json, form) };
    return this.#shown.value;
  }

  #messageOf(name: string): StoredMessage {
    return (this.#message ??= new StoredMessage(name, (this.stored as Json)['kwargs'] as Json));
  }

  /** Returns true when the value surely equals the stored one: it holds the same, so it would be written alike. */
  is(value: unknown, serde: Serde): boolean {
    if (!isComposite(value)) return value === this.stored;
    if (this.#name !== undefined) return this.#messageOf(this.#name).isHeldBy(value);
    this.#pristine ??= this.#isPlain ? { value: this.live(serde, 'objects') } : false;
    return this.#pristine !== false && isSame(value, this.#pristine.value);
  }
}

/** Returns elements as a graph gets them, or as they are shown. */
export async function allLive(elements: readonly Element[], serde: Serde, form: Form): Promise<unknown[]> {
  const values = elements.map((element) => element.live(serde, form));
  // A promise for each of thousands would take longer than making them.
  for (let at = 0; at < values.length; at += 1) if (values[at] instanceof Promise) values[at] = await values[at];
  return values;
}

const UNDEFINED = 'undefined';

/** Returns true for a value that JSON alone can express, and for LangGraph's record of an undefined one. */
function isData(value: Json): boolean {
  if (Array.isArray(value)) return value.every((part) => !isComposite(part) || isData(part));
  if ('lc' in value) return value['lc'] === 2 && value['type'] === UNDEFINED;
  return !('__lc_escaped__' in value) && Object.values(value).every((part) => !isComposite(part) || isData(part));
}

function copied(value: unknown): unknown {
  if (!isComposite(value)) return value;
  if (Array.isArray(value)) return value.map(copied);
  if ('lc' in value && value['type'] === UNDEFINED) return undefined;
  const copy: Json = {};
  for (const name of Object.keys(value)) setField(copy, name, copied(value[name]));
  return copy;
}

/**
 * Bytes that an object adds. A message is held as it is stored and as an object to compare with; both share its texts,
 * but not its fields.
 */
const OF_AN_OBJECT = 200;

function weigh(value: unknown): number {
  if (typeof value === 'string') return 2 * value.length;
  if (!isComposite(value)) return 16;
  return Object.values(value).reduce<number>((sum, part) => sum + weigh(part), OF_AN_OBJECT);
}
