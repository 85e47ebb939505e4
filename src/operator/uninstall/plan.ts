import type { Env } from '../../config/env.ts';
import { StartError } from '../../errors.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { WorkloadSpec } from '../objects/workload-spec.ts';

/** How many objects a sentence names. */
const NAMED = 10;

/** Returns the settings of an installation's operator, as its workload has them. */
export function readOperatorSettings(operator: KubeObject | undefined): Env {
  const variables =
    (operator?.spec as WorkloadSpec | undefined)?.template.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    variables.flatMap(({ name, value }) =>
      value === undefined || value === '' ? [] : [[name, value]],
    ),
  );
}

/** Throws if the deletion of some deployments would delete their data, which nobody has asked for. */
export function requireDataStays(
  deployments: readonly DeploymentResource[],
  policy: 'Retain' | 'Delete',
  word: string,
): void {
  const losing = deployments.filter(({ spec }) => (spec.deletionPolicy ?? policy) === 'Delete');
  if (losing.length === 0) return;
  throw new StartError(
    `Nothing was removed, because these deployments delete their data when they go: ${formatObjectNames(losing)}. ` +
      `Set spec.deletionPolicy to Retain to keep it, or run uninstall with --data ${word} to delete all data.`,
  );
}

/** Returns the names of some objects, with their namespaces. */
export function formatObjectNames(objects: readonly KubeObject[]): string {
  const named = objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted();
  const more = named.length - NAMED;
  return more > 0 ? `${named.slice(0, NAMED).join(', ')} and ${more} more` : named.join(', ');
}
