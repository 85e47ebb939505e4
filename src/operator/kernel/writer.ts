import { buildObjectKey, type Cache } from '../../kube/cache.ts';
import { Conflict, Unavailable } from '../../errors.ts';
import { AlreadyExists, KubeRefused, buildNameTaken } from '../../kube/errors.ts';
import type { JsonPatch, Kind, Kube, KubeObject } from '../../kube/kube.ts';
import { isOfKind, buildObjectId } from '../../kube/object-key.ts';
import { MANAGED_BY, OPERATOR } from '../../schema/platform/objects/labels.ts';
import { APPLIED, diffObjects, hashIntent, addIntentHash } from './owned.ts';

/** A kind that reconcilers write, and the cache that holds its objects; Secrets have none. */
export type Watched = { kind: Kind; cache?: Cache };

/**
 * Makes all writes of reconciles. It puts each answer into the caches at once, so that the next reconcile reads the
 * writes of this one. If the API server stores an object differently than applied, the writer remembers that and does
 * not apply it again until one side changes.
 */
export class Writer {
  readonly #kube: Kube;
  readonly #watched: Watched[];
  readonly #stored = new Map<string, string>();

  constructor(kube: Kube, watched: Watched[]) {
    this.#kube = kube;
    this.#watched = watched;
  }

  /**
   * Turns `existing` into `desired` with as few writes as possible. Returns the desired objects as they are stored, in
   * their order.
   */
  async reconcile(
    desired: KubeObject[],
    existing: KubeObject[],
    signal: AbortSignal,
  ): Promise<KubeObject[]> {
    const { apply, remove } = diffObjects(desired, existing);
    const standing: KubeObject[] = [];
    for (const intent of desired) {
      const id = buildObjectId(intent);
      const live = existing.find((object) => buildObjectId(object) === id);
      const isDone =
        live !== undefined &&
        (!apply.includes(intent) || this.#stored.get(id) === buildStamp(intent, live));
      standing.push(isDone ? live : await this.#make(intent, live, signal));
    }
    for (const object of remove) await this.remove(object, signal);
    return standing;
  }

  /** Creates an object that must never be overwritten. False: an object of this name already exists. */
  async create(object: KubeObject, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#write(object, (kind) => this.#kube.create(kind, object, {}, signal));
      return true;
    } catch (error) {
      if (error instanceof AlreadyExists) return false;
      throw error;
    }
  }

  /** Removes exactly this object, and not one that has since taken its name. */
  async remove(
    object: KubeObject,
    signal: AbortSignal,
    propagation: 'Background' | 'Orphan' = 'Background',
  ): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    this.#stored.delete(buildObjectId(object));
    await this.#kube.delete(
      this.#requireKind(object),
      { namespace, name },
      { ...(uid !== undefined && { uid }), propagation },
      signal,
    );
  }

  /**
   * Creates or applies the object. If an apply is refused, it puts the spec back as a whole: somebody may have changed
   * the key of a list entry, such as a port's number. The entry is then theirs, and ours beside it is a duplicate.
   */
  async #make(
    intent: KubeObject,
    live: KubeObject | undefined,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    try {
      return this.#recordStored(
        intent,
        live === undefined
          ? await this.#createUncached(intent, signal)
          : await this.#apply(intent, signal),
      );
    } catch (error) {
      if (
        !(error instanceof KubeRefused) ||
        live === undefined ||
        !(live.metadata.annotations?.[APPLIED] === hashIntent(intent))
      )
        throw error;
      const { namespace, name, resourceVersion } = live.metadata;
      const patch: JsonPatch = [
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
        {
          op: 'replace',
          path: '/spec',
          value: { ...(live.spec as object), ...(intent.spec as object) },
        },
      ];
      await this.#kube.patchJson(this.#requireKind(intent), { namespace, name }, patch, {}, signal);
      return this.#recordStored(intent, await this.#apply(intent, signal));
    }
  }

  #apply(intent: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    return this.#write(intent, (kind) => this.#kube.apply(kind, addIntentHash(intent), signal));
  }

  /**
   * Fails with a conflict if any object of that name exists: the operator must not merge its fields into a foreign
   * object, even if none of them contradict.
   */
  #applyNew(intent: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const { metadata, ...rest } = addIntentHash(intent);
    const first = { ...rest, metadata: { ...metadata, resourceVersion: OF_NOTHING } };
    return this.#write(intent, (kind) => this.#kube.apply(kind, first, signal));
  }

  /**
   * Creates an object that the caches do not hold, unless its name is taken. The object with that name may belong to
   * the same owner and have lost the label by which the caches find it. An object of somebody else is left alone.
   */
  async #createUncached(intent: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    try {
      return await this.#applyNew(intent, signal);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
    const { namespace, name } = intent.metadata;
    const scope = {
      ...(namespace !== undefined && { namespace }),
      fieldSelector: `metadata.name=${name}`,
    };
    const [found] = await this.#kube.listAll(this.#requireKind(intent), scope, signal);
    const what = `${intent.kind} ${name}`;
    const ours = found === undefined ? 'ours' : resolveOwnership(found, intent);
    if (ours === 'earlier')
      throw new Unavailable(
        `${what} of an earlier deployment of this name is still being deleted.`,
      );
    if (ours === 'theirs') throw buildNameTaken(what);
    return this.#apply(intent, signal);
  }

  #recordStored(intent: KubeObject, stored: KubeObject): KubeObject {
    this.#stored.set(buildObjectId(stored), buildStamp(intent, stored));
    return stored;
  }

  /** Sends a write and puts its answer into the cache of the kind. Secrets have none. */
  #write(object: KubeObject, send: (kind: Kind) => Promise<KubeObject>): Promise<KubeObject> {
    const kind = this.#requireKind(object);
    const cache = this.#findWatched(object)?.cache;
    return cache === undefined
      ? send(kind)
      : cache.write(buildObjectKey(object.metadata), () => send(kind));
  }

  #requireKind(object: KubeObject): Kind {
    const known = this.#findWatched(object)?.kind;
    if (known === undefined) throw new Error(`${object.kind} is not written by the operator`);
    return known;
  }

  #findWatched(object: KubeObject): Watched | undefined {
    return this.#watched.find(({ kind }) => isOfKind(object, kind));
  }
}

/** The first resource version of the store, which no object has any more. An apply that names it can only create. */
const OF_NOTHING = '1';

/**
 * Returns whose an object is: the same owner's, an earlier owner's for whom this operator made it, or somebody else's.
 */
function resolveOwnership(
  { metadata }: KubeObject,
  intent: KubeObject,
): 'ours' | 'earlier' | 'theirs' {
  const [owners, wanted] = [metadata.ownerReferences ?? [], intent.metadata.ownerReferences ?? []];
  if (owners.some(({ uid }) => wanted.some((owner) => owner.uid === uid))) return 'ours';
  if (metadata.labels?.[MANAGED_BY] !== OPERATOR) return 'theirs';
  return owners.length === 0 ? 'ours' : 'earlier';
}

const buildStamp = (intent: KubeObject, live: KubeObject): string =>
  `${hashIntent(intent)}/${live.metadata.resourceVersion}`;
