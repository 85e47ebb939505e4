import type { NewVersion } from '../../run-storage/step-storage.ts';
import { Element } from './element.ts';
import type { ListTexts } from './list-texts.ts';
import type { Serde } from './serde.ts';
import { storeNamed } from './unstored.ts';

/** `fresh` are the elements that no version has yet. */
type Identified = { elements: Element[]; fresh: Set<Element> };

type By = { serde: Serde; texts: ListTexts };

/**
 * Returns how the value of a channel is stored. Returns undefined for a channel that is empty in this version. `before`
 * are the elements of the version that the last checkpoint has.
 */
export async function buildNewValue(
  { channel, values }: { channel: string; values: Record<string, unknown> },
  before: readonly Element[] | undefined,
  by: By,
): Promise<NewVersion<Element> | undefined> {
  if (!(channel in values)) return undefined;
  const value = values[channel];
  const list = Array.isArray(value) ? await toElements(value, before ?? [], by) : undefined;
  if (list !== undefined) return list;
  const [type, blob] = await storeNamed(channel, () => by.serde.dumpsTyped(value));
  return { type, blob };
}

/** Elements of the last version that are compared with one of the new version, from where the last match was. */
const AHEAD = 8;

/**
 * Returns the elements of a list: those of the last version, where they are the same. Returns undefined where the list
 * can only be written as a whole. It reads all that it needs of the list before it returns, because the graph goes on
 * meanwhile.
 */
async function toElements(
  value: unknown[],
  before: readonly Element[],
  { serde, texts }: By,
): Promise<Identified | undefined> {
  const found: (Element | Promise<string | undefined>)[] = [];
  const passed: Element[] = [];
  let at = 0;
  for (const one of value) {
    const from = at;
    while (at < before.length && at < from + AHEAD && !before[at]!.is(one, serde)) at += 1;
    if (at < before.length && at < from + AHEAD) {
      if (at > from) passed.push(...before.slice(from, at));
      found.push(before[at]!);
      at += 1;
    } else {
      at = from;
      found.push(serde.encodeElement(one));
    }
  }
  passed.push(...before.slice(at));
  texts.note(value, found);
  return matchElements(found, passed);
}

/** Returns the elements, and identifies those that are not surely the same by their text. */
async function matchElements(
  found: (Element | Promise<string | undefined>)[],
  passed: Element[],
): Promise<Identified | undefined> {
  const elements = found.slice();
  const fresh = new Set<Element>();
  let byText: Map<string, Element> | undefined;
  for (let at = 0; at < elements.length; at += 1) {
    const one = elements[at]!;
    if (one instanceof Element) continue;
    const text = await one;
    if (text === undefined) return undefined;
    byText ??= new Map(passed.map((element) => [element.text, element]));
    const known = byText.get(text);
    const element = known ?? new Element(JSON.parse(text));
    if (known === undefined) fresh.add(element);
    elements[at] = element;
  }
  return { elements: elements as Element[], fresh };
}
