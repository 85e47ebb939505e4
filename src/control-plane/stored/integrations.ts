import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { Cache, buildObjectKey } from '../../kube/cache.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube } from '../../kube/kube.ts';
import { Reflector, type Watch } from '../../kube/watch.ts';
import type { Log } from '../../log.ts';
import type { GitIntegrationResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  toConfiguredIntegration,
  toGitIntegration,
  type GitIntegration,
} from '../../schema/platform/source/git-connection.ts';
import { trimObject } from './caches.ts';
import type { UnmatchedPush } from './shared-pushes.ts';
import { UnmatchedPushes } from './unmatched-pushes.ts';

/** A connection to a git host; `resource` is undefined for one of the settings, which no request removes. */
export type KnownIntegration = GitIntegration & { resource: GitIntegrationResource | undefined };

/** Holds the connections to git hosts: those of the settings, and the custom resources as last seen. */
export class StoredIntegrations {
  readonly #kube: Kube;
  readonly #config: ControlPlaneConfig;
  readonly #cache = new Cache<GitIntegrationResource>();
  readonly #unmatched: UnmatchedPushes;
  readonly watch: Watch;

  constructor({ kube, config, log }: { kube: Kube; config: ControlPlaneConfig; log: Log }) {
    this.#kube = kube;
    this.#config = config;
    const { namespace } = config;
    this.#unmatched = new UnmatchedPushes({ kube, namespace });
    this.watch = new Reflector({
      kube,
      kind: kinds.gitIntegration,
      cache: this.#cache,
      namespace,
      log,
      project: trimObject,
    });
  }

  async start(): Promise<void> {
    this.watch.start();
    await this.watch.synced;
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  /** Returns all connections. Where two have one id, that of the settings counts, then the one of the first name. */
  listAll(): KnownIntegration[] {
    const { gitIntegrations, defaultTenantId } = this.#config;
    const configured = gitIntegrations.map((entry) => ({
      ...toConfiguredIntegration(entry, defaultTenantId),
      resource: undefined,
    }));
    const stored = this.#cache
      .list()
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .map((resource) => ({ ...toGitIntegration(resource, defaultTenantId), resource }));
    const seen = new Set<string>();
    return [...configured, ...stored].filter(({ id }) => !seen.has(id) && seen.add(id));
  }

  /** Returns the connection with this id, also one that another replica has just made. */
  async find(id: string, signal: AbortSignal): Promise<KnownIntegration | undefined> {
    const findKnown = (): KnownIntegration | undefined =>
      this.listAll().find((one) => one.id === id.toLowerCase());
    const found = findKnown();
    if (found !== undefined) return found;
    const { namespace } = this.#config;
    for (const object of await this.#kube.listAll(kinds.gitIntegration, { namespace }, signal))
      this.#cache.addIfNewer(trimObject(object));
    return findKnown();
  }

  /** Adds the API server's answer to a write. */
  note(object: GitIntegrationResource): void {
    this.#cache.addIfNewer(trimObject(object));
  }

  /** Remembers a push event of a connection that was for no deployment. */
  async noteUnmatched(
    integration: KnownIntegration,
    push: { repository: string; branch: string; at: Date },
  ): Promise<void> {
    const known = new Set(this.listAll().map(({ id }) => id));
    const written = await this.#unmatched.note(integration, push, known);
    if (written !== undefined) this.note(written);
  }

  findLastUnmatched(integration: KnownIntegration): Promise<UnmatchedPush | undefined> {
    return this.#unmatched.findLast(integration);
  }

  remove({ metadata }: GitIntegrationResource): void {
    this.#cache.remove(buildObjectKey(metadata), BigInt(metadata.resourceVersion ?? '0'));
  }
}
