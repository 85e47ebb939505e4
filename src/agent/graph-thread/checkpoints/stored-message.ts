import { fieldOf, isSame } from './same.ts';
import { messageClass, messageData, messageFields } from './serde.ts';
import { type Json, isComposite } from '../../../schema/json.ts';

/** The fields that LangChain would write of a message that nobody has changed. */
type Unchanged = { prototype: object; names: string[]; fields: unknown[] };

/**
 * A message of plain data as it is stored. A long thread makes each of its messages once a run and compares it with
 * each step, so both are quick: the values that they need are found once.
 */
export class StoredMessage {
  readonly #class: new (fields: Json) => object;
  /** The constructor's argument. Nobody is given the objects in it. */
  readonly #fields: Json;
  /** Names of the fields that hold objects. */
  readonly #parts: string[];
  #unchanged: Unchanged | undefined;

  constructor(name: string, kwargs: Json) {
    this.#class = messageClass(name);
    this.#fields = messageFields(name, kwargs);
    this.#parts = Object.keys(this.#fields).filter((field) => typeof this.#fields[field] === 'object' && this.#fields[field] !== null);
  }

  /** Returns a message that shares no object with another one. */
  make(): object {
    const given = { ...this.#fields };
    for (const part of this.#parts) given[part] = messageData(given[part]);
    return new this.#class(given);
  }

  /** Returns true when the value surely equals the stored message, so that it would be written alike. */
  isHeldBy(value: object): boolean {
    const { prototype, names, fields } = (this.#unchanged ??= unchanged(this.make() as Json));
    if (Object.getPrototypeOf(value) !== prototype) return false;
    const one = value as Json;
    const given = one['lc_kwargs'];
    if (!isComposite(given)) return false;
    let at = 0;
    for (const name in given) {
      const own = fieldOf(one, name, given);
      // Nearly always the fields come in the order that they have here.
      const field = names[at] === name ? at : names.indexOf(name);
      if (field === -1 || (own !== fields[field] && !isSame(own, fields[field]))) return false;
      at += 1;
    }
    return at === names.length;
  }
}

function unchanged(made: Json): Unchanged {
  const given = made['lc_kwargs'] as Json;
  const names = Object.keys(given);
  return { prototype: Object.getPrototypeOf(made) as object, names, fields: names.map((name) => fieldOf(made, name, given)) };
}
