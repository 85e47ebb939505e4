import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/**
 * Holds deployments in the order in which a list shows them. Each change keeps the order, so that no list has to sort.
 */
export class NewestFirst {
  readonly #sorted: DeploymentResource[] = [];

  get all(): readonly DeploymentResource[] {
    return this.#sorted;
  }

  applyChange(old: DeploymentResource | undefined, now: DeploymentResource | undefined): void {
    if (old !== undefined && now !== undefined && compareNewestFirst(old, now) === 0) {
      this.#sorted[this.#findIndex(old)] = now;
      return;
    }
    if (old !== undefined) this.#sorted.splice(this.#findIndex(old), 1);
    if (now !== undefined) this.#sorted.splice(this.#findIndex(now), 0, now);
  }

  /** Returns the first index that does not come before the deployment, which is its own if it is there. */
  #findIndex(deployment: DeploymentResource): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareNewestFirst(this.#sorted[middle] as DeploymentResource, deployment) < 0)
        low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

type Dated = { metadata: { creationTimestamp?: string; name: string; namespace?: string } };

/** Compares by creation, newest first. Names decide within a second, so that pages neither repeat nor skip. */
export function compareNewestFirst(a: Dated, b: Dated): number {
  const [timeA, timeB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (timeA !== timeB) return timeA < timeB ? 1 : -1;
  if (a.metadata.name !== b.metadata.name) return a.metadata.name < b.metadata.name ? -1 : 1;
  const [spaceA, spaceB] = [a.metadata.namespace ?? '', b.metadata.namespace ?? ''];
  return spaceA === spaceB ? 0 : spaceA < spaceB ? -1 : 1;
}
