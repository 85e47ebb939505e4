import type { OperatorConfig } from '../config/platform/operator.ts';
import type { Cache } from '../kube/cache.ts';
import { Limiter } from '../http/limits/limiter.ts';
import { kinds } from '../kube/kinds.ts';
import type { Kube } from '../kube/kube.ts';
import { NamespaceReader } from '../kube/namespaces.ts';
import { Reflector, type Watch, type WatchObserver, type WatchTimings } from '../kube/watch.ts';
import type { Log } from '../log.ts';
import { listCachedRows, type Caches } from './view/caches.ts';
import type { MissingKinds } from './view/missing-kinds.ts';
import type { KindRow, KindTable } from './kinds/row.ts';

type WatchesOptions = {
  kube: Kube;
  log: Log;
  caches: Caches;
  table: KindTable;
  missing: MissingKinds;
  observer: WatchObserver;
  config: OperatorConfig;
  timings?: Partial<WatchTimings> | undefined;
};

/** How many pages are fetched at once. One is parsed and added while the API server makes the next. */
const PAGES_AT_ONCE = 2;

/** Milliseconds of silence after which a watch is dead. One that lives is heard of every 18 seconds. */
const DEAD_AFTER = 60_000;

/** Says which watches are dead, or returns undefined if none is. */
export function describeDeadWatches(all: readonly Watch[]): string | undefined {
  const dead = all.map(({ state }) => state).filter(({ silent = 0 }) => silent > DEAD_AFTER);
  if (dead.length === 0) return undefined;
  const names = dead.map(
    ({ kind, namespace, silent = 0 }) =>
      `${kind}${namespace && ` in ${namespace}`} for ${Math.round(silent / 1000)} s`,
  );
  return `nothing was heard of ${names.slice(0, 5).join(', ')}`;
}

/** Creates the watches of each cached kind, and the reader of namespaces. */
export function createWatches({
  kube,
  log,
  caches,
  table,
  missing,
  observer,
  config,
  timings,
}: WatchesOptions): Watch[] {
  const pages = new Limiter(PAGES_AT_ONCE);
  const shared = { kube, log, observer, pages, ...(timings && { timings }) };
  const watch = ({ row, cache }: { row: KindRow; cache: Cache }): Reflector[] => {
    const { kind, projection: project, optional } = row;
    const notePresence = (isThere: boolean): void => missing.note(kind, isThere);
    const own = { kind, cache, optional, onPresence: notePresence, ...(project && { project }) };
    return (row.scope?.(config) ?? []).map(
      (scope) => new Reflector({ ...shared, ...own, ...scope }),
    );
  };
  const watched = listCachedRows(caches, table).map((cached) => ({
    kind: cached.row.kind,
    reflectors: watch(cached),
  }));
  const listeners = watched.flatMap(({ kind, reflectors }) =>
    kind === kinds.listener ? reflectors : [],
  );
  const isWorked = (name: string): boolean =>
    config.namespaces.length === 0 || config.namespaces.includes(name);
  const listClaimedNamespaces = (): string[] =>
    caches.listeners.list().flatMap(({ spec }) => spec.namespaces.filter(isWorked));
  const after = Promise.all(listeners.map(({ synced }) => synced));
  const labels = new NamespaceReader({
    kube,
    log,
    cache: caches.namespaces,
    names: listClaimedNamespaces,
    after,
  });
  caches.listeners.addChangeListener(() => labels.readNew());
  return [labels, ...watched.flatMap(({ reflectors }) => reflectors)];
}
