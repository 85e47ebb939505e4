/*
 * The stored form of a list: the elements that one version of a channel adds to another version of it, its base
 * (docs/decisions/0009-lists-as-changes.md).
 */

/** The content of a row of type `list`, as JSON. A row without a base is a whole list: it has one part. */
export type ListChange = {
  /** Rows between this one and the last that sums up: 0 where this one does. */
  steps: number;
  /** Elements and rows that a reader of this version reads. */
  stored: number;
  parts: ListPart[];
};

/** Elements of the base from the first number to the second, both included; or new ones. */
type ListPart = [from: number, to: number] | { new: unknown[] };

export type StoredList = [
  threadId: string,
  namespace: string,
  channel: string,
  version: string,
  base: string | null,
  value: ListChange,
];

/** A version of a list, with the facts about the rows below it that the next version needs. */
export type ListVersion<E> = {
  version: string;
  base: string | null;
  elements: readonly E[];
  steps: number;
  stored: number;
  /** The last row that sums up; undefined where it is not known, so that the next version is stored whole. */
  anchor: { version: string; elements: readonly E[]; stored: number } | undefined;
};

/** Returns the beginning of the keys of a graph's lists. */
export const buildGraphKey = (threadId: string, namespace: string): string =>
  `${threadId}\n${namespace}\n`;

/** Channels share versions, so only both together name a list. */
export const listKey = (
  threadId: string,
  namespace: string,
  channel: string,
  version: string,
): string => `${buildGraphKey(threadId, namespace)}${channel}\n${version}`;

type Find<E> = (key: string) => ListVersion<E> | undefined;

/**
 * Returns the lists that the rows stand for, by their keys. `known` are those that the reader has, and `own` makes an
 * element from its stored form. Throws where a row or an element is missing, because a shorter list would be a wrong
 * one.
 */
export function buildListVersions<E>(
  rows: StoredList[],
  known: Find<E>,
  own: (stored: unknown) => E,
): Map<string, ListVersion<E>> {
  const waiting = new Map(rows.map((row) => [listKey(row[0], row[1], row[2], row[3]), row]));
  const lists = new Map<string, ListVersion<E>>();
  const findList: Find<E> = (key) => lists.get(key) ?? known(key);
  for (const row of rows) {
    const way: StoredList[] = [];
    for (
      let next: StoredList | undefined = row;
      next !== undefined && !lists.has(buildKey(next));
      next = waiting.get(buildBaseKey(next) ?? '')
    )
      way.push(next);
    for (const one of way.toReversed())
      lists.set(buildKey(one), buildListVersion(one, findList, own));
  }
  return lists;
}

const buildKey = ([threadId, namespace, channel, version]: StoredList): string =>
  listKey(threadId, namespace, channel, version);

const buildBaseKey = ([threadId, namespace, channel, , base]: StoredList): string | undefined =>
  base === null ? undefined : listKey(threadId, namespace, channel, base);

function buildListVersion<E>(
  row: StoredList,
  found: Find<E>,
  own: (stored: unknown) => E,
): ListVersion<E> {
  const [, , channel, version, base, { parts, steps, stored }] = row;
  const below = base === null ? undefined : found(buildBaseKey(row)!);
  if (base !== null && below === undefined)
    throw new RangeError(`Version ${version} of "${channel}" has lost its base ${base}.`);
  const elements = collectElements(parts, below?.elements ?? [], own);
  const anchor = steps === 0 ? { version, elements, stored } : below!.anchor;
  return { version, base, elements, steps, stored, anchor };
}

export function buildWholeList<E>(version: string, elements: readonly E[]): ListVersion<E> {
  const stored = elements.length + 1;
  return { version, base: null, elements, steps: 0, stored, anchor: { version, elements, stored } };
}

function collectElements<E>(
  parts: ListPart[],
  base: readonly E[],
  own: (stored: unknown) => E,
): E[] {
  const elements: E[] = [];
  for (const part of parts) {
    if (!Array.isArray(part)) for (const element of part.new) elements.push(own(element));
    else {
      if (part[1] >= base.length)
        throw new RangeError(`A list names element ${part[1]} of a base that has ${base.length}.`);
      for (let at = part[0]; at <= part[1]; at += 1) elements.push(base[at]!);
    }
  }
  return elements;
}

/**
 * The length of a chain of rows before one sums them up. A reader reads at most one chain, and one row for each chain
 * before.
 */
const STEPS = 64;

/** A row to be stored: its base and its JSON text, and the version that it makes. */
export type NewList<E> = { base: string | undefined; text: string; list: ListVersion<E> };

/**
 * Returns how a list is stored as the next version after `before`: as a change of it, every 64 steps as the sum of
 * these changes, and whole where a reader would read more than twice its elements. `fresh` are elements that no version
 * has yet. `textOf` returns an element as JSON.
 */
export function buildNextList<E>(
  before: ListVersion<E> | undefined,
  {
    version,
    elements,
    fresh,
    textOf,
  }: {
    version: string;
    elements: readonly E[];
    fresh: ReadonlySet<E>;
    textOf: (element: E) => string;
  },
): NewList<E> {
  const sumsUp = before !== undefined && before.steps + 1 >= STEPS;
  const base = sumsUp ? before.anchor : before;
  if (before?.anchor === undefined || base === undefined)
    return buildWholeRow(version, elements, textOf);
  const { text, added } = encodeParts({ elements, fresh }, base.elements, textOf);
  const steps = sumsUp ? 0 : before.steps + 1;
  const stored = base.stored + added + 1;
  if (stored > 2 * elements.length + STEPS) return buildWholeRow(version, elements, textOf);
  const anchor = sumsUp ? { version, elements, stored } : before.anchor;
  const list = { version, base: base.version, elements, steps, stored, anchor };
  return {
    base: base.version,
    text: `{"steps":${steps},"stored":${stored},"parts":[${text}]}`,
    list,
  };
}

function buildWholeRow<E>(
  version: string,
  elements: readonly E[],
  textOf: (element: E) => string,
): NewList<E> {
  const list = buildWholeList(version, elements);
  return { base: undefined, text: encodeWholeText(elements.map(textOf)), list };
}

/** Returns the content of the row of a whole list, from the list's elements as JSON. */
export const encodeWholeText = (texts: string[]): string =>
  `{"steps":0,"stored":${texts.length + 1},"parts":[${texts.length === 0 ? '' : `{"new":[${texts.join(',')}]}`}]}`;

/** Returns the parts of a list as JSON. An element that is the same in the base is named by its number there. */
function encodeParts<E>(
  { elements, fresh }: { elements: readonly E[]; fresh: ReadonlySet<E> },
  base: readonly E[],
  textOf: (element: E) => string,
): { text: string; added: number } {
  const parts: string[] = [];
  let numbers: Map<E, number> | undefined;
  const findNumber = (element: E, at: number): number | undefined => {
    if (base[at] === element) return at;
    return fresh.has(element)
      ? undefined
      : (numbers ??= new Map(base.map((one, number) => [one, number]))).get(element);
  };
  let added = 0;
  let at = 0;
  while (at < elements.length) {
    const from = findNumber(elements[at]!, at);
    const first = at;
    if (from === undefined) {
      while (at < elements.length && findNumber(elements[at]!, at) === undefined) at += 1;
      parts.push(`{"new":[${elements.slice(first, at).map(textOf).join(',')}]}`);
      added += at - first;
    } else {
      while (
        at < elements.length &&
        from + at - first < base.length &&
        base[from + at - first] === elements[at]
      )
        at += 1;
      parts.push(`[${from},${from + at - first - 1}]`);
    }
  }
  return { text: parts.join(','), added };
}
