import { setTimeout as wait } from 'node:timers/promises';
import type { ControlPlaneConfig } from '../../config/control-plane.ts';
import { Cache, keyOf, type Change, type IndexBy } from '../../kube/cache.ts';
import { kinds, type Kind, type Kube, type KubeObject } from '../../kube/kube.ts';
import { Reflector, type Watch } from '../../kube/watch.ts';
import type { Log } from '../../log.ts';
import type { DeploymentResource, ListenerResource, RevisionResource, TracingProjectResource } from '../../schema/custom-resources.ts';
import { DEPLOYMENT, MADE_BY } from '../../schema/labels.ts';
import { labelValue } from '../../schema/names.ts';
import { newestFirst } from '../../schema/revision-of.ts';
import { ownersOf } from '../../schema/tenancy.ts';
import { deploymentId, updatedAt } from './metadata.ts';
import { NewestFirst } from './newest-first.ts';

const silent = { relisted: () => undefined, missed: () => undefined, active: () => undefined };
const at =
  <T extends KubeObject>(field: (object: T) => string | undefined): IndexBy<T> =>
  (object) =>
    [field(object)].filter((value) => value !== undefined);
const uidOf = ({ metadata }: KubeObject): string | undefined => metadata.uid;

/**
 * After a live list, searches pause for this many times its length. Without the pause, each unknown id would cost a
 * list.
 */
const REST_PER_LIST = 2;
const REMEMBERED = 10_000;

type StoredOptions = { kube: Kube; config: Pick<ControlPlaneConfig, 'namespace' | 'namespaces'>; log: Log };

/**
 * Holds the custom resources as last seen by a watch. What this process writes is added at once, so that a client reads
 * its own writes. Before a client is told that something does not exist, a live list looks for what another process may
 * just have written.
 */
export class Stored {
  readonly #kube: Kube;
  readonly #namespaces: string[];
  readonly #own: string;
  readonly #deployments = new Cache<DeploymentResource>({
    id: at(deploymentId),
    name: at(({ metadata }: DeploymentResource) => metadata.name),
    request: at(({ metadata }: DeploymentResource) => metadata.annotations?.[MADE_BY]?.split('.')[0]),
  });
  readonly #newest = new NewestFirst();
  readonly #revisions = new Cache<RevisionResource>({
    deployment: at(({ spec }: RevisionResource) => spec.deploymentUid),
    name: at(({ metadata, spec }: RevisionResource) => keyOf({ namespace: metadata.namespace, name: spec.deployment })),
  });
  readonly #listeners = new Cache<ListenerResource>({ uid: at(uidOf) });
  readonly #projects = new Cache<TracingProjectResource>({
    uid: at(uidOf),
    name: at(({ spec }: TracingProjectResource) => spec.projectName),
  });
  readonly #reflectors: Watch[];
  #owners: ReadonlyMap<string, ListenerResource> | undefined;
  #search: Promise<void> | undefined;
  #searchAfter = -Infinity;
  readonly #waiting = new Set<() => void>();
  /** Ids of deployments that are known to be deleted. A client polls such an id until it gets a 404. */
  readonly #gone = new Set<string>();

  constructor({ kube, config, log }: StoredOptions) {
    this.#kube = kube;
    this.#namespaces = config.namespaces;
    this.#own = config.namespace;
    const own = [config.namespace];
    // An empty list stands for the whole cluster, which a reflector takes as no namespace.
    const everywhere: (string | undefined)[] = config.namespaces.length === 0 ? [undefined] : [...new Set(config.namespaces)];
    const withOwn = everywhere.includes(undefined) ? everywhere : [...new Set([...everywhere, ...own])];
    const watch = <T extends KubeObject>(kind: Kind<T>, cache: Cache<T>, namespaces: (string | undefined)[]): Watch[] =>
      namespaces.map((namespace) => new Reflector({ kube, kind, cache, namespace, log, observer: silent, project: lean }));
    this.#reflectors = [
      ...watch(kinds.deployment, this.#deployments, everywhere),
      ...watch(kinds.revision, this.#revisions, everywhere),
      ...watch(kinds.listener, this.#listeners, own),
      ...watch(kinds.tracingProject, this.#projects, withOwn),
    ];
  }

  /** Resolves at the next change of a deployment or revision, or when the signal is aborted. */
  async changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const abort = (): void => resolve();
    this.#waiting.add(resolve);
    signal.addEventListener('abort', abort, { once: true });
    await promise;
    this.#waiting.delete(resolve);
    signal.removeEventListener('abort', abort);
  }

  readonly #bury = ({ before, after }: Change<DeploymentResource>): void => {
    if (after !== undefined) return void this.#gone.delete(deploymentId(after));
    if (before !== undefined) this.#gone.add(deploymentId(before));
    const oldest = this.#gone.values().next().value;
    if (this.#gone.size > REMEMBERED && oldest !== undefined) this.#gone.delete(oldest);
  };

  readonly #wake = (): void => {
    for (const resolve of this.#waiting) resolve();
  };

  /** Resolves when every kind has been listed once. */
  async start(): Promise<void> {
    this.#deployments.onChange(this.#bury);
    this.#deployments.onChange(this.#wake);
    this.#deployments.onChange(({ before, after }) => this.#newest.change(before, after));
    this.#revisions.onChange(this.#wake);
    this.#listeners.onChange(() => (this.#owners = undefined));
    for (const reflector of this.#reflectors) reflector.start();
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  /** Newest first. */
  deployments(): readonly DeploymentResource[] {
    return this.#newest.all;
  }

  named(name: string): DeploymentResource[] {
    return this.#deployments.byIndex('name', name);
  }

  /** Returns the deployments that a request with this hash of its Idempotency-Key made. */
  madeBy(keyHash: string): DeploymentResource[] {
    return this.#deployments.byIndex('request', keyHash);
  }

  /** Reads all deployments now, because another replica may have written some a moment ago. */
  readDeployments(signal: AbortSignal): Promise<void> {
    return this.#searchLive(signal);
  }

  /** Returns the deployment with this id from the watch, else from a live list. */
  async deployment(id: string, signal: AbortSignal): Promise<DeploymentResource | undefined> {
    const known = this.#deployments.byIndex('id', id)[0];
    if (known !== undefined || this.#gone.has(id)) return known;
    await this.#searchLive(signal);
    return this.#deployments.byIndex('id', id)[0];
  }

  revisionsOf(deployment: DeploymentResource): RevisionResource[] {
    return newestFirst(this.#revisions.byIndex('deployment', deployment.metadata.uid ?? ''));
  }

  /** Returns the revisions of every deployment that ever had this name in the namespace. */
  revisionsNamed(namespace: string, deployment: string): RevisionResource[] {
    return this.#revisions.byIndex('name', keyOf({ namespace, name: deployment }));
  }

  /** Returns a revision of this deployment by its uid, from the watch, else from a live list. */
  async revision(deployment: DeploymentResource, id: string, signal: AbortSignal): Promise<RevisionResource | undefined> {
    const find = (): RevisionResource | undefined => this.revisionsOf(deployment).find((revision) => revision.metadata.uid === id);
    const known = find();
    if (known !== undefined) return known;
    const { namespace = '', name } = deployment.metadata;
    const options = { namespace, labelSelector: `${DEPLOYMENT}=${labelValue(name)}` };
    for (const revision of await this.#kube.all(kinds.revision, options, signal)) this.#revisions.offer(lean(revision));
    return find();
  }

  listeners(): ListenerResource[] {
    return this.#listeners.list();
  }

  /** Returns each namespace with the Listener that has it. */
  owners(): ReadonlyMap<string, ListenerResource> {
    return (this.#owners ??= ownersOf(this.listeners()));
  }

  /** Returns every Listener with the namespaces that it has, which may be fewer than it names. */
  places(): ListenerResource[] {
    const owners = this.owners();
    const hasIt =
      ({ metadata }: ListenerResource) =>
      (namespace: string) =>
        owners.get(namespace)?.metadata.uid === metadata.uid;
    return this.listeners().map((listener) => ({
      ...listener,
      spec: { ...listener.spec, namespaces: listener.spec.namespaces.filter(hasIt(listener)) },
    }));
  }

  /** Reads the Listeners now, for decisions that must include what other replicas have written. */
  async readListeners(signal: AbortSignal): Promise<void> {
    for (const listener of await this.#kube.all(kinds.listener, { namespace: this.#own }, signal)) this.#listeners.offer(lean(listener));
  }

  async listener(uid: string, signal: AbortSignal): Promise<ListenerResource | undefined> {
    const known = this.#listeners.byIndex('uid', uid)[0];
    if (known !== undefined) return known;
    await this.readListeners(signal);
    return this.#listeners.byIndex('uid', uid)[0];
  }

  projects(): TracingProjectResource[] {
    return this.#projects.list();
  }

  projectsNamed(name: string): TracingProjectResource[] {
    return this.#projects.byIndex('name', name);
  }

  /** Adds what the API server answered to one of our writes. */
  note = {
    deployment: (object: DeploymentResource): DeploymentResource => offered(this.#deployments, object),
    revision: (object: RevisionResource): RevisionResource => offered(this.#revisions, object),
    listener: (object: ListenerResource): ListenerResource => offered(this.#listeners, object),
  };

  /** Reads objects again after their deletion was asked for: they may be gone, or wait for a finalizer. */
  refresh = {
    deployment: (object: DeploymentResource, signal: AbortSignal) => this.#refresh(kinds.deployment, this.#deployments, { object, signal }),
    listener: (object: ListenerResource, signal: AbortSignal) => this.#refresh(kinds.listener, this.#listeners, { object, signal }),
    project: (object: TracingProjectResource, signal: AbortSignal) =>
      this.#refresh(kinds.tracingProject, this.#projects, { object, signal }),
  };

  async #refresh<T extends DeploymentResource | ListenerResource | TracingProjectResource>(
    kind: Kind<T>,
    cache: Cache<T>,
    { object, signal }: { object: T; signal: AbortSignal },
  ): Promise<void> {
    const { namespace, name } = object.metadata;
    const key = keyOf({ namespace, name });
    const live = await this.#kube.find(kind, { namespace, name }, signal);
    if (live !== undefined) cache.offer(lean(live));
    else cache.remove(key, BigInt(cache.get(key)?.metadata.resourceVersion ?? object.metadata.resourceVersion ?? '0'));
  }

  /**
   * Runs one list at a time for everybody who misses something. Those who come while it runs wait for the next one,
   * which starts after they came.
   */
  async #searchLive(signal: AbortSignal): Promise<void> {
    if (this.#search !== undefined) await this.#search.catch(() => undefined);
    this.#search ??= this.#listDeployments().finally(() => (this.#search = undefined));
    await this.#search;
    signal.throwIfAborted();
  }

  async #listDeployments(): Promise<void> {
    const early = this.#searchAfter - performance.now();
    if (early > 0) await wait(early);
    const started = performance.now();
    const scopes = this.#namespaces.length === 0 ? [{}] : this.#namespaces.map((namespace) => ({ namespace }));
    const found = await Promise.all(scopes.map((scope) => this.#kube.all(kinds.deployment, scope)));
    for (const deployment of found.flat()) this.#deployments.offer(lean(deployment));
    this.#searchAfter = performance.now() + (performance.now() - started) * REST_PER_LIST;
  }
}

function offered<T extends KubeObject>(cache: Cache<T>, object: T): T {
  const kept = lean(object);
  cache.offer(kept);
  return kept;
}

/** Returns an object as it is kept. managedFields, half of its size, are reduced to the time of the last write. */
const lean = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, managedFields: [{ time: updatedAt(object) }] },
});
