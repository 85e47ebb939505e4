import type { DeploymentResource } from '../schema/custom-resources.ts';
import { newestCreatedFirst } from './paging.ts';

/** Deployments in the order in which a list shows them, kept with each change, so that no list has to sort. */
export class NewestFirst {
  readonly #sorted: DeploymentResource[] = [];

  get all(): readonly DeploymentResource[] {
    return this.#sorted;
  }

  change(old: DeploymentResource | undefined, now: DeploymentResource | undefined): void {
    if (old !== undefined && now !== undefined && newestCreatedFirst(old, now) === 0) {
      this.#sorted[this.#placeOf(old)] = now;
      return;
    }
    if (old !== undefined) this.#sorted.splice(this.#placeOf(old), 1);
    if (now !== undefined) this.#sorted.splice(this.#placeOf(now), 0, now);
  }

  /** The first place that is not before it: its own, when it is there. */
  #placeOf(deployment: DeploymentResource): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (newestCreatedFirst(this.#sorted[middle] as DeploymentResource, deployment) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
