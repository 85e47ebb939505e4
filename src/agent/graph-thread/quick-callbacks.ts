import process from 'node:process';

/*
 * A handler of callbacks has LangChain copy its callback manager for each part of a graph. The copy takes over the
 * metadata key by key, and makes both objects again for each key, so its time grows with the square of their number: a
 * run with twenty keys takes 1.4 ms more. This file has the copy take all keys over at once. It also leaves the
 * metadata alone where a part of a graph is given keys and values that it has. The results are the same. The user's
 * graph brings its own copy of the library, so the class is found through the graph; a version of it that gives other
 * results is left as it is (docs/decisions/0024-two-patches.md).
 */

type Metadata = Record<string, unknown>;
type Manager = {
  metadata: Metadata;
  inheritableMetadata: Metadata;
  copy: (...args: unknown[]) => Manager;
  addMetadata: (added: Metadata, inherit?: boolean) => void;
};
type Pipeable = {
  pipe?: (step: (input: unknown, config: { callbacks?: unknown }) => unknown) => {
    last?: { invoke(input: unknown, config: object): Promise<unknown> };
  };
};

/** LangSmith would get a trace of the call that finds the class, and the console would show it. */
const WATCHED = [
  'LANGSMITH_TRACING',
  'LANGSMITH_TRACING_V2',
  'LANGCHAIN_TRACING',
  'LANGCHAIN_TRACING_V2',
  'LANGCHAIN_VERBOSE',
];

// oxlint-disable-next-line house/module-state -- the classes that are changed belong to the process, too
const seen = new WeakSet<object>();

/**
 * Has the callback managers of the graph's library copy their metadata at once. Does nothing where the graph does not
 * lead to the library's class, and where the library's own traces are on.
 */
export async function patchCallbacks(graph: object): Promise<void> {
  const kind = (graph as { constructor?: unknown }).constructor;
  if (typeof kind !== 'function' || seen.has(kind)) return;
  seen.add(kind);
  if (WATCHED.some((name) => process.env[name] === 'true')) return;
  const manager = await findManager(graph as Pipeable).catch(() => undefined);
  if (manager !== undefined && isAsExpected(manager))
    patchMetadata(Object.getPrototypeOf(manager) as Manager);
}

/** Returns whether the library's own functions give the results of the replacements: a newer version may do more. */
function isAsExpected(manager: Manager): boolean {
  const replaced = Object.create(Object.getPrototypeOf(manager) as object) as Manager;
  patchMetadata(replaced);
  const tryOut = (tried: Manager): string => {
    tried.addMetadata({ assistant_id: 'a', Shadowed: 'above', langgraph_step: 1 });
    tried.addMetadata({ ls_model_name: 'm', Shadowed: 'here', none: null }, false);
    const copies = [tried, tried.copy(), tried.copy([], false)];
    return JSON.stringify(
      copies.map(({ metadata, inheritableMetadata }) =>
        [metadata, inheritableMetadata].map((one) => Object.entries(one)),
      ),
    );
  };
  try {
    const quick = Object.setPrototypeOf(manager.copy(), replaced) as Manager;
    return tryOut(quick) === tryOut(manager.copy());
  } catch {
    return false;
  }
}

/** Returns a callback manager of the graph's library: the one that a function after the graph gets. */
async function findManager(graph: Pipeable): Promise<Manager | undefined> {
  const after = graph.pipe?.((_input, { callbacks }) => ({ callbacks }))?.last;
  const found = (await after?.invoke({}, { callbacks: [{ name: 'gx-class' }] })) as
    | { callbacks?: Partial<Manager> }
    | undefined;
  return typeof found?.callbacks?.copy === 'function' ? (found.callbacks as Manager) : undefined;
}

/** Replaces `copy` and `addMetadata` of a class's prototype. Exported for the test that compares both. */
export function patchMetadata(prototype: Manager): void {
  const { copy } = prototype;
  if (seen.has(copy)) return;
  prototype.addMetadata = function (this: Manager, added: Metadata, inherit = true): void {
    this.metadata = mergeMetadata(this.metadata, added);
    if (inherit) this.inheritableMetadata = mergeMetadata(this.inheritableMetadata, added);
  };
  const copyQuickly = function (this: Manager, ...args: unknown[]): Manager {
    const { metadata, inheritableMetadata } = this;
    this.metadata = {};
    this.inheritableMetadata = {};
    try {
      const made = copy.apply(this, args);
      made.metadata = { ...metadata };
      made.inheritableMetadata = filterInheritable(metadata, inheritableMetadata);
      return made;
    } finally {
      this.metadata = metadata;
      this.inheritableMetadata = inheritableMetadata;
    }
  };
  seen.add(copyQuickly);
  prototype.copy = copyQuickly;
}

/** Returns the first with all keys and values of the second: the first itself where it has them already. */
function mergeMetadata(first: Metadata, second: Metadata): Metadata {
  for (const key in second)
    if (first[key] !== second[key] || !(key in first)) return { ...first, ...second };
  return first;
}

/** Returns the metadata that calls below get: the keys that are inheritable, with the values of this call. */
function filterInheritable(metadata: Metadata, inheritable: Metadata): Metadata {
  const kept: Metadata = {};
  for (const key in metadata) if (Object.hasOwn(inheritable, key)) kept[key] = metadata[key];
  return kept;
}
