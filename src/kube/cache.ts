import type { KubeObject } from './kube.ts';

/** What a listener learns: which object, and whether a list (start-up, relist) or a live event told of it. */
export type Change = { key: string; before: KubeObject | undefined; after: KubeObject | undefined; live: boolean };
export type IndexBy = (object: KubeObject) => string[];

/** `namespace/name`, or `name` for what has no namespace. */
export const keyOf = ({ namespace, name }: { namespace?: string | undefined; name: string }): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

/** Deletions remembered, so that a late answer to one of our writes does not bring an object back. */
const TOMBS = 2000;

const versionOf = (object: KubeObject): bigint => BigInt(object.metadata.resourceVersion ?? '0');

/**
 * The objects of one kind as last seen, with indexes. It never goes back in time: an object older than the one held is ignored, so
 * answers to our own writes may be put in at once and every reconcile reads what the one before it wrote.
 */
export class Cache<T extends object = KubeObject> {
  readonly #objects = new Map<string, KubeObject>();
  readonly #tombs = new Map<string, bigint>();
  readonly #indexes = new Map<string, { by: IndexBy; keys: Map<string, Set<string>> }>();
  readonly #listeners: ((change: Change) => void)[] = [];

  constructor(indexes: Record<string, IndexBy> = {}) {
    for (const [name, by] of Object.entries(indexes)) this.#indexes.set(name, { by, keys: new Map() });
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key) as T | undefined;
  }

  list(): T[] {
    return [...this.#objects.values()] as T[];
  }

  byIndex(index: string, value: string): T[] {
    const keys = this.#indexes.get(index)?.keys.get(value) ?? [];
    return [...keys].flatMap((key) => this.get(key) ?? []);
  }

  onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  /** Takes an object in unless what is held, or was deleted, is newer. True when it was news. */
  offer(object: T, live = true): boolean {
    const after = object as unknown as KubeObject;
    const key = keyOf(after.metadata);
    const before = this.#objects.get(key);
    const known = before === undefined ? this.#tombs.get(key) : versionOf(before);
    if (known !== undefined && known >= versionOf(after)) return false;
    this.#objects.set(key, after);
    this.#reindex(key, before, after);
    this.#tell({ key, before, after, live });
    return true;
  }

  /** Forgets an object that was deleted at the given version. */
  remove(key: string, version: bigint, live = true): boolean {
    const before = this.#objects.get(key);
    this.#bury(key, version);
    if (before === undefined || versionOf(before) > version) return false;
    this.#objects.delete(key);
    this.#reindex(key, before, undefined);
    this.#tell({ key, before, after: undefined, live });
    return true;
  }

  /** The truth of a list: takes in what is newer, forgets what is gone within the scope. Returns the keys that were news. */
  reset(objects: T[], version: bigint, inScope: (key: string) => boolean): string[] {
    const listed = new Set(objects.map((object) => keyOf((object as unknown as KubeObject).metadata)));
    const gone = [...this.#objects.keys()].filter((key) => inScope(key) && !listed.has(key));
    const news = objects.filter((object) => this.offer(object, false)).map((object) => keyOf((object as unknown as KubeObject).metadata));
    return [...news, ...gone.filter((key) => this.remove(key, version, false))];
  }

  #reindex(key: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    for (const { by, keys } of this.#indexes.values()) {
      for (const value of before === undefined ? [] : by(before)) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
      for (const value of after === undefined ? [] : by(after)) keys.set(value, (keys.get(value) ?? new Set()).add(key));
    }
  }

  #bury(key: string, version: bigint): void {
    this.#tombs.delete(key);
    this.#tombs.set(key, version);
    const oldest = this.#tombs.keys().next().value;
    if (this.#tombs.size > TOMBS && oldest !== undefined) this.#tombs.delete(oldest);
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }
}
