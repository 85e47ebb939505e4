import type { KubeObject } from './kube.ts';

/** The values under which an index finds an object. */
export type IndexBy<T extends KubeObject = KubeObject> = (object: T) => string[];

type Index<T extends KubeObject> = { by: IndexBy<T>; keys: Map<string, Set<string>> };

/** Finds the keys of objects by values in them. */
export class ObjectIndexes<T extends KubeObject> {
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexes: Record<string, IndexBy<T>>) {
    for (const [name, by] of Object.entries(indexes)) this.#indexes.set(name, { by, keys: new Map() });
  }

  keys(index: string, value: string): string[] {
    return [...(this.#indexes.get(index)?.keys.get(value) ?? [])];
  }

  /** Moves the key in all indexes. Changes nothing, and throws, if one of them can't read the object. */
  move(key: string, before: T | undefined, after: T | undefined): void {
    const valuesIn = ({ by }: Index<T>, object: T | undefined): string[] => (object === undefined ? [] : by(object));
    const moves = [...this.#indexes.values()].map((index) => ({ ...index, from: valuesIn(index, before), to: valuesIn(index, after) }));
    for (const { keys, from, to } of moves) {
      for (const value of from) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
      for (const value of to) keys.set(value, (keys.get(value) ?? new Set()).add(key));
    }
  }
}
