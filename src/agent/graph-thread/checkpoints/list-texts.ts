import { toJson } from '../serialise.ts';
import { Element } from './element.ts';

/** A list as it was when a step stored it. An element that no step had stored before has a promise in its place. */
type StoredList = { items: readonly unknown[]; found: readonly unknown[]; text?: string };

/** Elements below which it is not worth while to remember the elements that a list was compared with. */
const FEW = 16;

/**
 * Knows the JSON of long lists that a step has stored, so that a run that adds to a long list need not write all of it
 * for each event and answer. Clients get such a list as it was stored.
 */
export class ListTexts {
  readonly #stored = new WeakMap<readonly unknown[], StoredList | 'changing'>();

  /** Notes the elements of a list while it is stored. A list that a graph changes in place is not trusted. */
  note(list: readonly unknown[], found: readonly unknown[]): void {
    if (list.length >= FEW)
      this.#stored.set(list, this.#stored.has(list) ? 'changing' : { items: list.slice(), found });
  }

  /** Returns the list as one line of JSON; undefined when no step has stored it, or when it has changed since. */
  getText(list: readonly unknown[]): string | undefined {
    const stored = this.#stored.get(list);
    if (stored === undefined || stored === 'changing' || stored.items.length !== list.length)
      return undefined;
    for (let at = 0; at < list.length; at += 1) if (list[at] !== stored.items[at]) return undefined;
    const toText = (one: unknown, at: number): string =>
      one instanceof Element ? one.shownText : toJson(list[at]);
    return (stored.text ??= `[${stored.found.map(toText).join(',')}]`);
  }
}
