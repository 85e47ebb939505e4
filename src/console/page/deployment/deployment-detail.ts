import { effect, signal, untracked } from '@preact/signals';
import type { DeploymentDetails } from '../../../schema/platform/deployment/deployment-summary.ts';
import type { Revision } from '../../../schema/platform/deployment/revision.ts';
import { RequestRefused } from '../api/calls.ts';
import { isNewer } from '../live/newer.ts';
import type { ConsoleApp } from '../shell/app.ts';
import { findGitOpsManager, type Marked } from './git-ops-manager.ts';
import { describeFailure } from '../api/failure-text.ts';

/** The most revisions that are shown. */
const REVISIONS = 100;

/** One deployment with its revisions, kept fresh by the stream of all changes. */
export class DeploymentDetail {
  readonly id: string;
  readonly details = signal<DeploymentDetails | undefined>(undefined);
  readonly revisions = signal<Revision[]>([]);
  readonly manager = signal<{ tool: string; name: string } | undefined>(undefined);
  /** The policy of its resource for its data when it is deleted; undefined: the installation decides. */
  readonly deletionPolicy = signal<string | undefined>(undefined);
  readonly refused = signal<string | undefined>(undefined);
  /** When it was seen to be gone, in milliseconds. */
  readonly goneAt = signal<number | undefined>(undefined);
  readonly #app: ConsoleApp;
  #isReading = false;
  #isAsked = false;

  constructor(app: ConsoleApp, id: string) {
    this.#app = app;
    this.id = id;
  }

  /** Reads it, and again after each change. Returns a function that ends this. */
  follow(): () => void {
    void this.read();
    return effect(() => {
      const { value: store } = this.#app.store;
      void store.changed.value;
      const gone = store.gone.get(this.id);
      if (gone !== undefined) this.goneAt.value = gone;
      const known = this.details.peek();
      const summary = store.all.get(this.id);
      if (known !== undefined && summary !== undefined && isNewer(summary.version, known.version))
        untracked(() => void this.read());
    });
  }

  /** Reads all of it. One read at a time; a change in the meantime makes another one. */
  async read(): Promise<void> {
    this.#isAsked = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isAsked && this.goneAt.value === undefined) {
        this.#isAsked = false;
        await this.#readOnce();
      }
    } catch (error) {
      this.#handleFailure(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #readOnce(): Promise<void> {
    const { calls } = this.#app;
    const path = `v2/deployments/${encodeURIComponent(this.id)}`;
    const [details, { resources }, { metadata, spec }] = await Promise.all([
      calls.fetchJson<DeploymentDetails>(`${path}/state`),
      calls.fetchJson<{ resources: Revision[] }>(`${path}/revisions`, {
        query: { limit: REVISIONS },
      }),
      calls.fetchJson<{ metadata: Marked; spec?: { deletionPolicy?: string } }>(`${path}/resource`),
    ]);
    this.details.value = details;
    this.revisions.value = resources;
    this.manager.value = findGitOpsManager(metadata);
    this.deletionPolicy.value = spec?.deletionPolicy;
    this.refused.value = undefined;
  }

  #handleFailure(error: unknown): void {
    const isMissing = error instanceof RequestRefused && error.status === 404;
    if (isMissing && this.details.value !== undefined) this.goneAt.value = Date.now();
    else this.refused.value = describeFailure(error);
  }
}
