import { setTimeout as wait } from 'node:timers/promises';
import { toError, Forbidden } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Cache } from './cache.ts';
import { kinds } from './kinds.ts';
import type { Kube, KubeObject } from './kube.ts';
import type { Watch, WatchState } from './watch.ts';

/** Milliseconds between two reads of a namespace. A label that was removed counts at most a little longer than this. */
const EVERY = 15_000;
const FIRST_RETRY = 500;

export type NamespaceOptions = {
  kube: Kube;
  cache: Cache;
  names: () => readonly string[];
  /** Resolves when `names` is complete for the first time. */
  after: Promise<unknown>;
  log: Log;
  every?: number;
};

/** Returns a Namespace with its labels alone. */
export const trimNamespace = ({
  apiVersion,
  kind,
  metadata: { name, uid, resourceVersion, labels },
}: KubeObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: {
    name,
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(labels && { labels }),
  },
});

/**
 * Keeps the labels of some namespaces in a cache by reading each from time to time. A Role in a namespace lets its
 * holder read that Namespace, but none lets it list or watch them. A namespace that may not be read counts as one
 * without labels.
 */
export class NamespaceReader implements Watch {
  readonly #options: NamespaceOptions;
  readonly #stopped = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #heardAt = performance.now();
  #running: Promise<void> | undefined;

  constructor(options: NamespaceOptions) {
    this.#options = options;
  }

  /** Resolves when each namespace was read once. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get state(): WatchState {
    return {
      kind: 'Namespace',
      namespace: '',
      selector: '',
      silent: performance.now() - this.#heardAt,
    };
  }

  start(): void {
    this.#heardAt = performance.now();
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the namespaces are no longer read'));
    await this.#running;
  }

  /** Reads each namespace once more, whatever the version. */
  async waitForVersion(): Promise<void> {
    await this.synced;
    await this.#readAll().catch((error: unknown) => this.#logFailure(error));
  }

  /** Reads those that were never read. Called when there are new names. */
  readNew(): void {
    const { cache, names } = this.#options;
    const unknown = names().filter((name) => cache.get(name) === undefined);
    this.#readThese(unknown).catch((error: unknown) => this.#logFailure(error));
  }

  async #run(): Promise<void> {
    const { every = EVERY, after } = this.#options;
    const { signal } = this.#stopped;
    const stopped = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await Promise.race([after, stopped]);
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.#readAll();
        this.#heardAt = performance.now();
        this.#synced.resolve();
        failures = 0;
      } catch (error) {
        this.#logFailure(error);
        failures += 1;
      }
      const pause = failures === 0 ? every : Math.min(every, FIRST_RETRY * 2 ** failures);
      await wait(pause * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
    }
  }

  #logFailure(error: unknown): void {
    if (!this.#stopped.signal.aborted)
      this.#options.log.warn({ err: toError(error) }, 'labels of namespaces could not be read');
  }

  #readAll(): Promise<void> {
    return this.#readThese(this.#options.names());
  }

  async #readThese(names: readonly string[]): Promise<void> {
    for (const name of new Set(names))
      await readNamespace(this.#options, name, this.#stopped.signal);
  }
}

/** Reads the labels of a namespace into a cache. */
export async function readNamespace(
  { kube, cache }: { kube: Kube; cache: Cache },
  name: string,
  signal: AbortSignal,
) {
  const known = cache.get(name)?.metadata.resourceVersion ?? '0';
  try {
    const found = await kube.find(kinds.namespace, { name }, signal);
    if (found === undefined) cache.remove(name, BigInt(known));
    else cache.addIfNewer(trimNamespace(found));
  } catch (error) {
    if (!(error instanceof Forbidden)) throw error;
  }
}
