import { setTimeout as wait } from 'node:timers/promises';
import { toError, NotFound } from '../errors.ts';
import type { Log } from '../log.ts';
import { stripManagedFields } from './bounds.ts';
import { buildObjectKey, type Intake, type Via } from './cache.ts';
import { Expired, buildKubeError } from './errors.ts';
import { Limiter } from '../http/limits/limiter.ts';
import type { Kind, Kube, KubeObject, ListOptions, WatchEvent } from './kube.ts';

export type WatchTimings = {
  /** The length of one watch in seconds. It is random between the two, so that watches do not all end at once. */
  watchSeconds: [number, number];
  /** Milliseconds after which a silent watch is dead, however open its connection looks. */
  inactivity: number;
  /** Milliseconds between two lists that check what the watch reported. */
  relist: number;
  /** The shortest time between two requests, in milliseconds. */
  pace: number;
  longestDelay: number;
  /** Milliseconds between two looks for a kind that is not installed. */
  missing: number;
};

/**
 * The API server sends nothing of its own for a minute, but it ends a watch when asked to, and two seconds before that
 * it sends a bookmark from which the next watch continues. So short watches tell a dead connection from a quiet one: 18
 * s at most, and 4 s for a late answer, leave 8 of the 30 s within which the world is to be right again. This costs one
 * request per watch in 16 s, while a leader renews its Lease eight times.
 */
const TIMINGS: WatchTimings = {
  watchSeconds: [14, 18],
  inactivity: 22_000,
  relist: 900_000,
  pace: 500,
  longestDelay: 5_000,
  missing: 30_000,
};
/** Objects of a page. They are 2 MB at most for our largest objects, and take some 50 ms to read and add. */
const PAGE = 250;
/** How many times in a row a list may be older than a change that is known. */
const CATCH_UP = 10;

/** A running watch, whatever its kind. */
export type Watch = Pick<Reflector, 'synced' | 'start' | 'stop' | 'waitForVersion' | 'state'>;

/** The events that a watch reports about itself. */
export type WatchObserver = {
  relisted(kind: string): void;
  missed(kind: string, count: number): void;
};

/** The objects of a watch, and the milliseconds since its last sign of life. `namespace` is empty for all of them. */
export type WatchState = {
  kind: string;
  namespace: string;
  selector: string;
  /** Undefined while the API server does not have the kind. */
  silent: number | undefined;
};

export type WatchOptions<T extends KubeObject> = {
  kube: Kube;
  kind: Kind<T>;
  cache: Intake<T>;
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  /** The name of the only object that is watched. */
  only?: string | undefined;
  /** True if the API server may not have the kind. There are no objects then, until it is installed. */
  optional?: boolean | undefined;
  /** Called when an optional kind is found missing, and when it is installed then. */
  onPresence?: ((isThere: boolean) => void) | undefined;
  /** Returns the part of an object that is kept in memory. */
  project?: (object: T) => T;
  /** Shared by the watches of a process, to limit how many pages are under way at a time. */
  pages?: Limiter;
  log: Log;
  observer?: WatchObserver;
  timings?: Partial<WatchTimings>;
};

/** The progress of a list. It is `late` if it held something that the watch should have reported. */
type Listing = { keys: Set<string>; news: number; late: boolean };

/**
 * Keeps a cache equal to the API server's objects of one kind. It lists by pages, watches with bookmarks, begins again
 * after any error, and from time to time lists again to find changes that the watch missed.
 */
export class Reflector<T extends KubeObject = KubeObject> {
  readonly #options: WatchOptions<T> & { pages: Limiter };
  readonly #timings: WatchTimings;
  readonly #stopped = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  readonly #inScope = (key: string): boolean =>
    this.#options.namespace === undefined || key.startsWith(`${this.#options.namespace}/`);
  #version: string | undefined;
  #listedAt = 0;
  /** When the API server last answered: with a page of a list, an event, or the end of a watch in its time. */
  #heardAt = performance.now();
  #failures = 0;
  #isMissing = false;
  #running: Promise<void> | undefined;

  constructor(options: WatchOptions<T>) {
    this.#options = { pages: new Limiter(1), ...options };
    this.#timings = { ...TIMINGS, ...options.timings };
  }

  /** Resolves when the first list is in the cache, or when an optional kind is found missing. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Which objects it watches, and how long it has heard nothing of them. */
  get state(): WatchState {
    const { kind, namespace = '', labelSelector, only } = this.#options;
    const selector = labelSelector ?? (only === undefined ? '' : `metadata.name=${only}`);
    return {
      kind: kind.kind,
      namespace,
      selector,
      silent: this.#isMissing ? undefined : performance.now() - this.#heardAt,
    };
  }

  start(): void {
    this.#heardAt = performance.now();
    this.#running ??= this.#run();
  }

  /** Stops the watch. Afterwards no event reaches the cache. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the watch was stopped'));
    await this.#running;
  }

  /**
   * Resolves when the cache is at least as new as this version, after a list where the watch has not come so far. A
   * list that stays older is believed in the end: kinds may be stored apart, and then their versions cannot be
   * compared.
   */
  async waitForVersion(version: bigint): Promise<void> {
    await this.synced;
    const isBehind = (): boolean =>
      !this.#isMissing && BigInt(this.#version ?? 0) < version && !this.#signal.aborted;
    for (let attempt = 0; attempt < CATCH_UP && isBehind(); attempt += 1) {
      await this.#list().catch((error: unknown) => this.#handleFailure(error));
      if (isBehind()) await this.#pause(0);
    }
  }

  get #scope(): ListOptions {
    const { namespace, labelSelector, only } = this.#options;
    return {
      ...(namespace !== undefined && { namespace }),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(only !== undefined && { fieldSelector: `metadata.name=${only}` }),
    };
  }

  get #signal(): AbortSignal {
    return this.#stopped.signal;
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      const started = performance.now();
      try {
        if (
          this.#version === undefined ||
          performance.now() - this.#listedAt > this.#timings.relist
        )
          await this.#list();
        await this.#watch();
        this.#failures = 0;
      } catch (error) {
        this.#handleFailure(error);
      }
      await this.#pause(performance.now() - started);
    }
  }

  #handleFailure(error: unknown): void {
    if (this.#signal.aborted) return;
    if (error instanceof NotFound && this.#options.optional === true)
      return this.#handleMissingKind();
    if (error instanceof Expired) {
      this.#version = undefined;
      return;
    }
    this.#failures += 1;
    // A version that fails twice may come from a past that the API server no longer has, as after a restore of etcd.
    if (this.#failures > 1) this.#version = undefined;
    this.#options.log.warn(
      { err: toError(error), kind: this.#options.kind.kind, failures: this.#failures },
      'watch failed',
    );
  }

  /** Goes on without a kind that the API server does not have, and without the objects that there were. */
  #handleMissingKind(): void {
    const { kind, cache, log } = this.#options;
    if (!this.#isMissing)
      log.info({ kind: kind.kind, apiVersion: kind.apiVersion }, 'kind is not installed');
    this.#options.onPresence?.(false);
    cache.removeOthers(new Set(), BigInt(this.#version ?? 0), this.#inScope);
    this.#isMissing = true;
    this.#version = undefined;
    this.#failures = 0;
    this.#synced.resolve();
  }

  async #pause(spent: number): Promise<void> {
    const { pace, longestDelay, missing } = this.#timings;
    const backOff =
      this.#failures === 0
        ? 0
        : Math.min(pace * 2 ** this.#failures, longestDelay) * (0.5 + Math.random());
    const delay = this.#isMissing
      ? missing * (0.5 + Math.random() / 2)
      : Math.max(backOff, pace - spent);
    if (delay > 0) await wait(delay, undefined, { signal: this.#signal }).catch(() => undefined);
  }

  async #list(): Promise<void> {
    const { kind, cache, log, observer } = this.#options;
    const listing: Listing = { keys: new Set(), news: 0, late: false };
    let page: { resourceVersion: string; continue?: string } | undefined;
    do page = await this.#listPage(listing, page?.continue);
    while (page.continue !== undefined && !this.#signal.aborted);
    if (this.#signal.aborted) return;
    const seen = this.#version;
    if (this.#isMissing) {
      log.info({ kind: kind.kind, apiVersion: kind.apiVersion }, 'kind is installed now');
      this.#isMissing = false;
      this.#options.onPresence?.(true);
    }
    const gone = cache.removeOthers(listing.keys, BigInt(page.resourceVersion), this.#inScope);
    observer?.relisted(kind.kind);
    // A difference proves a missed event only if nothing has happened since the last event.
    if (seen !== undefined && (seen === page.resourceVersion || listing.late))
      observer?.missed(kind.kind, listing.news + gone.length);
    this.#version = page.resourceVersion;
    this.#listedAt = performance.now();
    this.#synced.resolve();
  }

  /**
   * Adds one page when it is its turn. Parsing pages and waking reconcilers for several kinds at once would hold up the
   * event loop.
   */
  #listPage(
    listing: Listing,
    next: string | undefined,
  ): Promise<{ resourceVersion: string; continue?: string }> {
    const { kube, kind, pages } = this.#options;
    const scope = this.#scope;
    return pages.run(async () => {
      const options = { ...scope, limit: PAGE, ...(next !== undefined && { continue: next }) };
      const { items, ...page } = await kube.list(kind, options, this.#signal);
      this.#heardAt = performance.now();
      for (const item of items) {
        if (this.#signal.aborted) break;
        const { metadata } = item;
        listing.keys.add(buildObjectKey(metadata));
        if (!this.#addObject(item, 'list')) continue;
        listing.news += 1;
        listing.late ||=
          this.#version !== undefined &&
          BigInt(metadata.resourceVersion ?? '0') <= BigInt(this.#version);
      }
      return page;
    });
  }

  async #watch(): Promise<void> {
    const { kube, kind } = this.#options;
    const [least, most] = this.#timings.watchSeconds;
    const silence = new AbortController();
    const stop = (): void => silence.abort();
    this.#signal.addEventListener('abort', stop);
    // The signal may have been aborted since the list, and then the listener below would never be called.
    if (this.#signal.aborted) stop();
    let timer = setTimeout(stop, this.#timings.inactivity);
    const began = performance.now();
    const timeoutSeconds = Math.round(least + Math.random() * (most - least));
    try {
      const scope = this.#scope;
      const options = { ...scope, resourceVersion: this.#version as string, timeoutSeconds };
      for await (const event of kube.watch(kind, options, silence.signal)) {
        if (this.#signal.aborted) return;
        clearTimeout(timer);
        timer = setTimeout(stop, this.#timings.inactivity);
        this.#take(event);
      }
      // A proxy may end watches at once, however dead the API server behind it is.
      if (!silence.signal.aborted && performance.now() - began > timeoutSeconds * 500)
        this.#heardAt = performance.now();
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', stop);
    }
  }

  #take(event: WatchEvent<T>): void {
    const { cache } = this.#options;
    if (event.type === 'ERROR')
      throw buildKubeError(event.object.code, JSON.stringify(event.object));
    const { metadata } = event.object;
    this.#version = metadata.resourceVersion;
    this.#failures = 0;
    this.#heardAt = performance.now();
    if (event.type === 'DELETED')
      cache.remove(buildObjectKey(metadata), BigInt(metadata.resourceVersion ?? '0'));
    else if (event.type !== 'BOOKMARK') this.#addObject(event.object, 'watch');
  }

  /** Adds one object. An object that can't be read must not keep the others of its list or watch away. */
  #addObject(object: T, via: Via): boolean {
    const { cache, project = stripManagedFields } = this.#options;
    try {
      return cache.addIfNewer(project(object), via);
    } catch (error) {
      cache.faults.noteUnreadable(object, error);
      return false;
    }
  }
}
