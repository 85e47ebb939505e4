import { limitObject, stripManagedFields } from './bounds.ts';
import { FaultyObjects } from './faulty-objects.ts';
import type { KubeObject } from './kube.ts';
import { buildObjectKey } from './object-key.ts';

export { buildObjectKey } from './object-key.ts';

/**
 * How a change became known: by a list (at startup, or a later check), by a watch, or as the answer to a write of this
 * process.
 */
export type Via = 'list' | 'watch' | 'answer';
/** A change that a cache reports to its listeners: the object before and after. At least one of the two is defined. */
export type Change<T extends KubeObject = KubeObject> = {
  key: string;
  before: T | undefined;
  after: T | undefined;
  via: Via;
};
/** The methods by which a watch fills a cache. */
export type Intake<T extends KubeObject = KubeObject> = Cache<T>;
/** The values under which an index finds an object. */
export type IndexBy<T extends KubeObject = KubeObject> = (object: T) => string[];

type Index<T extends KubeObject> = { by: IndexBy<T>; keys: Map<string, Set<string>> };

/** How many deletions are remembered, so that a late answer to one of our writes does not bring an object back. */
const TOMBS = 2000;

const parseVersion = (object: KubeObject): bigint => BigInt(object.metadata.resourceVersion ?? '0');

/** An object as it stays in memory: parsed, or packed as JSON text. */
type Held<T> = { version: bigint; kept: T | string };

/**
 * Holds the objects of one kind as last seen, with indexes. It ignores an object older than the one it holds, so it
 * never goes back in time. Answers to our own writes are added at once, so every reconcile reads the writes of the one
 * before it. A faulty object costs only itself: one that is out of bounds is held with its parts cut, and one that
 * indexes or listeners fail on is set aside. `faults` names them.
 */
export class Cache<T extends KubeObject = KubeObject> {
  readonly #objects = new Map<string, Held<T>>();
  readonly #tombs = new Map<string, bigint>();
  readonly #indexes: ObjectIndexes<T>;
  readonly #listeners: ((change: Change<T>) => void)[] = [];
  readonly #packed: boolean;
  readonly #recent = new Map<string, T>();
  /** The object that was unpacked last, because one reconcile asks for the same object several times. */
  #unpacked: { held: Held<T>; object: T } | undefined;
  /** The changes that a watch reports while writes of ours are under way, by key. */
  readonly #writes = new Map<string, Set<Set<Change<T>>>>();
  readonly #room: number;
  readonly #specLimit: number | undefined;
  /** The objects that are out of bounds or can't be read. */
  readonly faults = new FaultyObjects();

  /**
   * `packed` keeps objects as JSON text: a third of the memory of parsed ones, and next to no work for the garbage
   * collector. It is for tens of thousands of objects that are seldom read. The `recent` objects that changed last are
   * also kept parsed.
   */
  constructor(
    indexes: Record<string, IndexBy<T>> = {},
    {
      packed = false,
      recent = 0,
      specLimit,
    }: { packed?: boolean; recent?: number; specLimit?: number | undefined } = {},
  ) {
    this.#packed = packed;
    this.#room = recent;
    this.#specLimit = specLimit;
    this.#indexes = new ObjectIndexes(indexes);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#read(key);
  }

  list(): T[] {
    return [...this.#objects.keys()].flatMap((key) => this.#read(key) ?? []);
  }

  listByIndex(index: string, value: string): T[] {
    return this.listKeysByIndex(index, value).flatMap((key) => this.get(key) ?? []);
  }

  /** Returns the keys without reading the objects. */
  listKeysByIndex(index: string, value: string): string[] {
    return this.#indexes.listKeys(index, value);
  }

  addChangeListener(listener: (change: Change<T>) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Sends a write of the object of this key, and adds its answer. A watch may report the write before its answer
   * arrives. So a change that it reports meanwhile counts as the answer, and is reported again as news if it was not.
   */
  async write(key: string, send: () => Promise<T>): Promise<T> {
    const meanwhile = new Set<Change<T>>();
    const writes = this.#writes.get(key) ?? new Set();
    this.#writes.set(key, writes.add(meanwhile));
    let stored: T | undefined;
    try {
      stored = await send();
      this.addIfNewer(stripManagedFields(stored), 'answer');
      return stored;
    } finally {
      writes.delete(meanwhile);
      if (writes.size === 0) this.#writes.delete(key);
      const own = stored && parseVersion(stored);
      for (const change of meanwhile)
        if (change.after === undefined || parseVersion(change.after) !== own)
          this.#notify({ ...change, via: 'watch' });
    }
  }

  /** Adds an object unless the one that is held, or its deletion, is newer. Returns true if it was news. */
  addIfNewer(object: T, via: Via = 'watch'): boolean {
    const key = buildObjectKey(object.metadata);
    const known = this.#objects.get(key)?.version ?? this.#tombs.get(key);
    const version = parseVersion(object);
    if (known !== undefined && known >= version) return false;
    const { object: after, fault } = limitObject(object, this.#specLimit);
    const before = this.#read(key);
    try {
      this.#indexes.move(key, before, after);
    } catch (error) {
      this.faults.noteUnreadable(object, error);
      return false;
    }
    this.#objects.set(key, { version, kept: this.#packed ? JSON.stringify(after) : after });
    this.#keepRecent(key, via === 'list' ? undefined : after);
    this.faults.note(after, fault);
    this.#notifyUnlessWriting({ key, before, after, via });
    return true;
  }

  /** Forgets an object that was deleted at the given version. */
  remove(key: string, version: bigint, via: Via = 'watch'): boolean {
    const held = this.#objects.get(key);
    this.#addTombstone(key, version);
    this.faults.remove(key);
    if (held === undefined || held.version > version) return false;
    const before = this.#read(key);
    this.#objects.delete(key);
    this.#recent.delete(key);
    this.#indexes.move(key, before, undefined);
    this.#notify({ key, before, after: undefined, via });
    return true;
  }

  /**
   * Ends a list whose objects were offered: forgets the objects in its scope that it did not have. Returns the keys
   * that are gone.
   */
  removeOthers(listed: Set<string>, version: bigint, inScope: (key: string) => boolean): string[] {
    const isOther = (key: string): boolean => inScope(key) && !listed.has(key);
    const others = [...this.#objects.keys()].filter(isOther);
    for (const key of this.faults.listKeys().filter(isOther)) this.faults.remove(key);
    return others.filter((key) => this.remove(key, version, 'list'));
  }

  #read(key: string): T | undefined {
    const held = this.#objects.get(key);
    if (held === undefined) return undefined;
    const known =
      this.#recent.get(key) ?? (this.#unpacked?.held === held ? this.#unpacked.object : undefined);
    if (known !== undefined) return known;
    const object = typeof held.kept === 'string' ? (JSON.parse(held.kept) as T) : held.kept;
    if (this.#room > 0) this.#unpacked = { held, object };
    return object;
  }

  /**
   * Objects from a list are not remembered: tens of thousands that live for a moment each would let the heap grow by
   * half.
   */
  #keepRecent(key: string, object: T | undefined): void {
    this.#recent.delete(key);
    if (this.#room === 0 || object === undefined) return;
    this.#recent.set(key, object);
    const oldest = this.#recent.keys().next().value;
    if (this.#recent.size > this.#room && oldest !== undefined) this.#recent.delete(oldest);
  }

  #addTombstone(key: string, version: bigint): void {
    this.#tombs.delete(key);
    this.#tombs.set(key, version);
    const oldest = this.#tombs.keys().next().value;
    if (this.#tombs.size > TOMBS && oldest !== undefined) this.#tombs.delete(oldest);
  }

  /** Reports a change, as an answer if a write of the object is under way. */
  #notifyUnlessWriting(change: Change<T>): void {
    const writes = change.via === 'watch' ? this.#writes.get(change.key) : undefined;
    for (const meanwhile of writes ?? []) meanwhile.add(change);
    this.#notify(writes === undefined ? change : { ...change, via: 'answer' });
  }

  /** Calls every listener. An object that a listener can't read is faulty, and must not end the watch. */
  #notify(change: Change<T>): void {
    const { key, before, after } = change;
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.faults.noteUnreadable((after ?? before) as T, error);
        if (after === undefined) this.faults.remove(key);
      }
    }
  }
}

/** Finds the keys of objects by values in them. */
class ObjectIndexes<T extends KubeObject> {
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexes: Record<string, IndexBy<T>>) {
    for (const [name, by] of Object.entries(indexes))
      this.#indexes.set(name, { by, keys: new Map() });
  }

  listKeys(index: string, value: string): string[] {
    return [...(this.#indexes.get(index)?.keys.get(value) ?? [])];
  }

  /** Moves the key in all indexes. Changes nothing, and throws, if one of them can't read the object. */
  move(key: string, before: T | undefined, after: T | undefined): void {
    const listIndexValues = ({ by }: Index<T>, object: T | undefined): string[] =>
      object === undefined ? [] : by(object);
    const moves = [...this.#indexes.values()].map((index) => ({
      ...index,
      from: listIndexValues(index, before),
      to: listIndexValues(index, after),
    }));
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
