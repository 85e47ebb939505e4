import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { decideState, type StateShown } from './state.ts';
import type { Stored } from './stored.ts';

/** How a deployment is, with its newest revision and the one that serves. */
type DeploymentSummaryState = {
  latest: RevisionResource | undefined;
  active: RevisionResource | undefined;
  state: StateShown;
};
export type Summarized = DeploymentSummaryState & { id: string; deployment: DeploymentResource };

/**
 * Knows how each deployment is. It looks at one again only after a change of it or of its revisions, because a list of
 * 10,000 that is sorted by state needs the state of each.
 */
export class Overview {
  readonly #stored: Stored;
  /** By the deployment as it was seen; `at` is the place of its last change then. */
  readonly #seen = new WeakMap<DeploymentResource, { at: number; seen: DeploymentSummaryState }>();

  constructor(stored: Stored) {
    this.#stored = stored;
  }

  look(deployment: DeploymentResource): DeploymentSummaryState {
    const at = this.#stored.changes.getLastPlace(deployment.metadata.uid ?? '');
    const known = this.#seen.get(deployment);
    if (known?.at === at) return known.seen;
    const revisions = this.#stored.listRevisions(deployment);
    const latest = revisions[0];
    const active = revisions.find(
      ({ metadata }) => metadata.name === deployment.status?.activeRevision,
    );
    const seen = { latest, active, state: decideState(deployment, latest) };
    this.#seen.set(deployment, { at, seen });
    return seen;
  }

  summarize(deployment: DeploymentResource): Summarized {
    return { id: this.#stored.getId(deployment), deployment, ...this.look(deployment) };
  }
}
