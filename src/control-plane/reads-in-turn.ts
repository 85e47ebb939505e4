import { Conflict } from '../errors.ts';
import { TurnsByName } from '../http/limits/turns.ts';
import type { CountedKube, KubeObject, Kube, Kind, ListOptions, Page } from '../kube/kube.ts';

/**
 * Reads of the API server at a time that requests cause and no cache answers: six of the eight sockets, so that writes
 * find one, and three of a tenant. Each takes some milliseconds, so who has a thousand that wait asks too often.
 */
const READS = { all: 6, each: 3, waiting: 1000 };
/** Objects that one list may bring together. Nobody has so many backups, and a page of 500 takes megabytes. */
const MAX_LISTED = 5000;
const PAGE = 500;

/** Returns whose reads of a namespace are. Undefined: the platform's own, which take no turns. */
type Reader = (namespace: string | undefined) => string | undefined;

/**
 * Returns a client whose reads take turns by tenant, so that nobody's requests hold up those of others. It is the one
 * that handlers of requests get. Lists come in pages, each of which is a turn, and end where there are too many.
 */
export function wrapReadsInTurn(kube: CountedKube, readerOf: Reader): CountedKube {
  const turns = new TurnsByName(READS);
  const runInTurn = <T>(namespace: string | undefined, read: () => Promise<T>): Promise<T> => {
    const reader = readerOf(namespace);
    return reader === undefined ? read() : turns.run(reader, read);
  };
  const list: Kube['list'] = (kind, options, signal) =>
    runInTurn(options?.namespace, () => kube.list(kind, options, signal));
  return {
    get: (kind, ref, signal) => runInTurn(ref.namespace, () => kube.get(kind, ref, signal)),
    find: (kind, ref, signal) => runInTurn(ref.namespace, () => kube.find(kind, ref, signal)),
    list,
    listAll: (kind, options, signal) => listAll(list, { kind, options }, signal),
    create: (...given) => kube.create(...given),
    apply: (...given) => kube.apply(...given),
    patchJson: (...given) => kube.patchJson(...given),
    patchStatus: (...given) => kube.patchStatus(...given),
    replace: (...given) => kube.replace(...given),
    delete: (...given) => kube.delete(...given),
    watch: (...given) => kube.watch(...given),
    readPodLog: (...given) => kube.readPodLog(...given),
    close: () => kube.close(),
    ...(kube.addRequestListener && { addRequestListener: kube.addRequestListener.bind(kube) }),
  };
}

async function listAll<T extends KubeObject>(
  list: Kube['list'],
  { kind, options }: { kind: Kind<T>; options: ListOptions | undefined },
  signal?: AbortSignal,
): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const page: Page<T> = await list(
      kind,
      { limit: PAGE, ...options, ...(next !== undefined && { continue: next }) },
      signal,
    );
    items.push(...page.items);
    next = page.continue;
    if (next !== undefined && items.length >= MAX_LISTED)
      throw new Conflict(
        `Namespace ${options?.namespace ?? ''} has more than ${MAX_LISTED} objects of the kind ${kind.kind}; delete some.`,
      );
  } while (next !== undefined);
  return items;
}
