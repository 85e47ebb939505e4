import { setTimeout as wait } from 'node:timers/promises';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { buildObjectKey, type Cache, type Change } from '../../kube/cache.ts';
import type { Faulty } from '../../kube/faulty-objects.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../kube/kube.ts';
import { NamespaceReader, readNamespace } from '../../kube/namespaces.ts';
import { Reflector, type Watch } from '../../kube/watch.ts';
import type { Log } from '../../log.ts';
import type {
  DeploymentResource,
  ListenerResource,
  RevisionResource,
  TracingProjectResource,
} from '../../schema/platform/resources/custom-resources.ts';
import {
  chooseDeploymentId,
  listDeploymentIds,
} from '../../schema/platform/resources/deployment-ids.ts';
import { DEPLOYMENT } from '../../schema/platform/objects/labels.ts';
import { toLabelValue } from '../../schema/names.ts';
import type { ObjectFault } from '../../schema/platform/objects/object-fault.ts';
import { sortRevisions } from '../../schema/platform/resources/revision-of.ts';
import {
  resolveNamespaceTenant,
  type JoinedTenant,
  type Owners,
  chooseNamespaceOwners,
  resolveDeploymentTenant,
} from '../../schema/platform/resources/tenancy.ts';
import { trimObject, addToCache, createStoredCaches, type StoredCaches } from './caches.ts';
import { NewestFirst } from './newest-first.ts';
import { RecentChanges } from './recent-changes.ts';
import { refresh, type Refreshed } from './refresh.ts';
import { Waiting } from './waiting.ts';

/** Searches pause after a live list for this many times its length, or each unknown id would cost a list. */
const REST_PER_LIST = 2;
const REMEMBERED = 10_000;

type StoredConfig = Pick<
  ControlPlaneConfig,
  'namespace' | 'namespaces' | 'agentNamespaces' | 'defaultTenantId'
>;
/**
 * Holds the custom resources as last seen by a watch. Writes of this process are added at once, so that a client reads
 * its own writes. Before an answer says that something does not exist, a live list looks for objects that another
 * process may just have written.
 */
export class Stored {
  readonly #kube: Kube;
  readonly #config: StoredConfig;
  readonly #log: Log;
  readonly #caches: StoredCaches;
  readonly #newest = new NewestFirst();
  readonly #labels: NamespaceReader;
  readonly watches: readonly Watch[];
  #owners: Owners | undefined;
  #search: Promise<void> | undefined;
  #searchAfter = -Infinity;
  readonly #waiting = new Waiting();
  /** The changes of deployments and their revisions. They are noted before anybody who waits for one wakes. */
  readonly changes = new RecentChanges();
  /** Ids of deployments that are known to be deleted. A client polls such an id until it gets a 404. */
  readonly #gone = new Set<string>();

  constructor({ kube, config, log }: { kube: Kube; config: StoredConfig; log: Log }) {
    this.#kube = kube;
    this.#config = config;
    this.#log = log;
    this.#caches = createStoredCaches();
    const own = [config.namespace];
    // An empty list stands for the whole cluster, which a reflector takes as no namespace.
    const everywhere: (string | undefined)[] =
      config.namespaces.length === 0 ? [undefined] : [...new Set(config.namespaces)];
    const withOwn = everywhere.includes(undefined)
      ? everywhere
      : [...new Set([...everywhere, ...own])];
    const watch = <T extends KubeObject>(
      kind: Kind<T>,
      cache: Cache<T>,
      namespaces: (string | undefined)[],
    ): Watch[] =>
      namespaces.map(
        (namespace) => new Reflector({ kube, kind, cache, namespace, log, project: trimObject }),
      );
    const listeners = watch(kinds.listener, this.#caches.listeners, own);
    const after = Promise.all(listeners.map(({ synced }) => synced));
    this.#labels = new NamespaceReader({
      kube,
      cache: this.#caches.namespaces,
      names: () => this.#listClaimed(),
      after,
      log,
    });
    this.watches = [
      ...watch(kinds.deployment, this.#caches.deployments, everywhere),
      ...watch(kinds.revision, this.#caches.revisions, everywhere),
      ...listeners,
      ...watch(kinds.tracingProject, this.#caches.projects, withOwn),
      this.#labels,
    ];
  }

  /**
   * Resolves at the next change of the deployment with this uid or of one of its revisions, or when the signal is
   * aborted. Without a uid, any change counts.
   */
  waitForChange(signal: AbortSignal, uid?: string): Promise<void> {
    return this.#waiting.waitForChange(signal, uid);
  }

  readonly #bury = ({ before, after }: Change<DeploymentResource>): void => {
    if (after !== undefined) return listDeploymentIds(after).forEach((id) => this.#gone.delete(id));
    if (before !== undefined) for (const id of listDeploymentIds(before)) this.#gone.add(id);
    const oldest = this.#gone.values().next().value;
    if (this.#gone.size > REMEMBERED && oldest !== undefined) this.#gone.delete(oldest);
  };

  #noteRevision(deploymentUid: string): void {
    if (this.withUid(deploymentUid) !== undefined) this.changes.note({ uid: deploymentUid });
    this.#waiting.wake(deploymentUid);
  }

  /** Forgets all owners, and wakes all who wait, because any deployment may have another owner now. */
  #clearOwners(): void {
    this.#owners = undefined;
    this.changes.clear();
    this.#waiting.wakeAll();
  }

  /** Resolves when every kind has been listed once. */
  async start(): Promise<void> {
    this.#caches.deployments.addChangeListener(this.#bury);
    this.#caches.deployments.addChangeListener(({ before, after }) =>
      this.#newest.applyChange(before, after),
    );
    this.#caches.deployments.addChangeListener(({ before, after }) =>
      this.changes.noteDeployment(before, after),
    );
    this.#caches.deployments.addChangeListener(({ before, after }) =>
      this.#waiting.wake((after ?? before)?.metadata.uid),
    );
    this.#caches.revisions.addChangeListener(({ before, after }) =>
      this.#noteRevision((after ?? before)?.spec.deploymentUid ?? ''),
    );
    this.#caches.listeners.addChangeListener(() => {
      this.#clearOwners();
      this.#labels.readNew();
    });
    this.#caches.namespaces.addChangeListener(() => this.#clearOwners());
    for (const { faults } of Object.values(this.#caches))
      faults.addFaultListener(({ object, fault }) =>
        this.#log.warn(
          { kind: object.kind, ...object.metadata, ...fault },
          'object is shown in part',
        ),
      );
    for (const reflector of this.watches) reflector.start();
    await Promise.all(this.watches.map((reflector) => reflector.synced));
  }

  async stop(): Promise<void> {
    await Promise.all(this.watches.map((reflector) => reflector.stop()));
  }

  /** Returns the objects that are out of bounds, and are shown with parts cut, or can't be read, and are left out. */
  listFaulty(): Faulty[] {
    return Object.values(this.#caches).flatMap(({ faults }: Pick<Cache, 'faults'>) =>
      faults.listAll(),
    );
  }

  /** Returns why a revision is shown with parts cut. */
  findRevisionFault({ metadata }: RevisionResource): ObjectFault | undefined {
    return this.#caches.revisions.faults.findFault(buildObjectKey(metadata));
  }

  /** Newest first. */
  listDeployments(): readonly DeploymentResource[] {
    return this.#newest.all;
  }

  listNamed(name: string): DeploymentResource[] {
    return this.#caches.deployments.listByIndex('name', name);
  }

  /** Returns the deployments that a request with this hash of its Idempotency-Key made. */
  listMadeBy(keyHash: string): DeploymentResource[] {
    return this.#caches.deployments.listByIndex('request', keyHash);
  }

  /** Reads all deployments now, because another replica may have written some a moment ago. */
  readDeployments(signal: AbortSignal): Promise<void> {
    return this.#searchLive(signal);
  }

  /**
   * Returns the deployment with this id among those of a tenant, from the watch, else from a live list. A uid goes
   * before an id that another deployment claims.
   */
  async findDeployment(
    id: string,
    isTenants: (deployment: DeploymentResource) => boolean,
    signal: AbortSignal,
  ) {
    const find = (): DeploymentResource | undefined =>
      this.withId(id).find((one) => isTenants(one) && this.getId(one) === id);
    const known = find();
    if (known !== undefined || this.#gone.has(id)) return known;
    await this.#searchLive(signal);
    return find();
  }

  withUid = (uid: string): DeploymentResource | undefined =>
    this.withId(uid).find(({ metadata }) => metadata.uid === uid);

  /** Returns the deployments that have this id or claim it, as last seen. */
  withId = (id: string): DeploymentResource[] => this.#caches.deployments.listByIndex('id', id);

  /** Returns the id of a deployment in REST, in lower case because ids are compared so. */
  getId(deployment: DeploymentResource): string {
    const claimed = deployment.spec.id?.toLowerCase();
    if (claimed === undefined) return chooseDeploymentId(deployment, []);
    const tenant = this.#getTenant(deployment);
    const others = this.#caches.deployments
      .listByIndex('id', claimed)
      .filter((other) => this.#getTenant(other) === tenant);
    return chooseDeploymentId(deployment, others);
  }

  #getTenant(deployment: DeploymentResource): string | undefined {
    return resolveDeploymentTenant(deployment, this.getOwners(), this.#config.defaultTenantId);
  }

  /** Returns the revisions of a deployment in its own namespace: elsewhere, anybody may write its uid into one. */
  listRevisions({ metadata: { uid = '', namespace } }: DeploymentResource): RevisionResource[] {
    return sortRevisions(
      this.#caches.revisions
        .listByIndex('deployment', uid)
        .filter(({ metadata }) => metadata.namespace === namespace),
    );
  }

  /** Returns the revisions of every deployment that ever had this name in the namespace. */
  listRevisionsNamed(namespace: string, deployment: string): RevisionResource[] {
    return this.#caches.revisions.listByIndex(
      'name',
      buildObjectKey({ namespace, name: deployment }),
    );
  }

  /** Returns a revision of this deployment by its uid, from the watch, else from a live list. */
  async findRevision(
    deployment: DeploymentResource,
    id: string,
    signal: AbortSignal,
  ): Promise<RevisionResource | undefined> {
    const find = (): RevisionResource | undefined =>
      this.listRevisions(deployment).find((revision) => revision.metadata.uid === id);
    const known = find();
    if (known !== undefined) return known;
    const { namespace = '', name } = deployment.metadata;
    const options = { namespace, labelSelector: `${DEPLOYMENT}=${toLabelValue(name)}` };
    for (const revision of await this.#kube.listAll(kinds.revision, options, signal))
      this.#caches.revisions.addIfNewer(trimObject(revision));
    return find();
  }

  listListeners(): ListenerResource[] {
    return this.#caches.listeners.list();
  }

  getOwners(): Owners {
    return (this.#owners ??= chooseNamespaceOwners(
      this.listListeners(),
      this.joined,
      this.#config.defaultTenantId,
    ));
  }

  /** Returns every Listener with the namespaces that it has, which may be fewer than it names. */
  listPlaces(): ListenerResource[] {
    const owners = this.getOwners();
    const hasIt =
      ({ metadata }: ListenerResource) =>
      (namespace: string) =>
        owners.get(namespace)?.metadata.uid === metadata.uid;
    return this.listListeners().map((listener) => ({
      ...listener,
      spec: { ...listener.spec, namespaces: listener.spec.namespaces.filter(hasIt(listener)) },
    }));
  }

  /** Reads the Listeners now, for decisions that must include the writes of other replicas. */
  async readListeners(signal: AbortSignal): Promise<void> {
    for (const listener of await this.#kube.listAll(
      kinds.listener,
      { namespace: this.#config.namespace },
      signal,
    ))
      this.#caches.listeners.addIfNewer(trimObject(listener));
  }

  readonly joined: JoinedTenant = (name) =>
    resolveNamespaceTenant(
      { name, labels: this.#caches.namespaces.get(name)?.metadata.labels },
      this.#config,
    );

  /** Reads namespaces now, for decisions that must not rest on a label that was removed. */
  async readNamespaces(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names)
      await readNamespace({ kube: this.#kube, cache: this.#caches.namespaces }, name, signal);
  }

  /** Returns the namespaces that Listeners name and this installation serves. */
  #listClaimed(): string[] {
    const isServed = (name: string): boolean =>
      this.#config.namespaces.length === 0 || this.#config.namespaces.includes(name);
    return this.listListeners().flatMap(({ spec }) => spec.namespaces.filter(isServed));
  }

  async findListener(uid: string, signal: AbortSignal): Promise<ListenerResource | undefined> {
    const known = this.#caches.listeners.listByIndex('uid', uid)[0];
    if (known !== undefined) return known;
    await this.readListeners(signal);
    return this.#caches.listeners.listByIndex('uid', uid)[0];
  }

  listProjects(): TracingProjectResource[] {
    return this.#caches.projects.list();
  }

  listProjectsNamed(name: string): TracingProjectResource[] {
    return this.#caches.projects.listByIndex('name', name);
  }

  /** Adds the API server's answer to one of our writes. */
  note = {
    deployment: (object: DeploymentResource): DeploymentResource =>
      addToCache(this.#caches.deployments, object),
    revision: (object: RevisionResource): RevisionResource =>
      addToCache(this.#caches.revisions, object),
    listener: (object: ListenerResource): ListenerResource =>
      addToCache(this.#caches.listeners, object),
  };

  /** Reads objects again after their deletion was asked for: they may be gone, or wait for a finalizer. */
  refresh = {
    deployment: (...given: Refreshed<DeploymentResource>) =>
      refresh(this.#kube, kinds.deployment, this.#caches.deployments, given),
    listener: (...given: Refreshed<ListenerResource>) =>
      refresh(this.#kube, kinds.listener, this.#caches.listeners, given),
    project: (...given: Refreshed<TracingProjectResource>) =>
      refresh(this.#kube, kinds.tracingProject, this.#caches.projects, given),
  };

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
    await wait(Math.max(0, this.#searchAfter - performance.now()));
    const started = performance.now();
    const scopes =
      this.#config.namespaces.length === 0
        ? [{}]
        : this.#config.namespaces.map((namespace) => ({ namespace }));
    const found = (
      await Promise.all(scopes.map((scope) => this.#kube.listAll(kinds.deployment, scope)))
    ).flat();
    for (const deployment of found) this.#caches.deployments.addIfNewer(trimObject(deployment));
    this.#searchAfter = performance.now() + (performance.now() - started) * REST_PER_LIST;
  }
}
