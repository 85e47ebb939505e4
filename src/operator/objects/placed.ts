import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { PodPlace } from '../../config/platform/placement.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isComposite } from '../../schema/json.ts';

/** Kubernetes' label on nodes: the kind of their processors. */
const ARCHITECTURE = 'kubernetes.io/arch';

/**
 * Returns a place with only the nodes that run an image. One that was made for one kind of processors runs on no other,
 * but who names a kind knows better.
 */
const addArchitecture = (place: PodPlace, architecture: string | undefined): PodPlace =>
  architecture === undefined
    ? place
    : { ...place, nodeSelector: { [ARCHITECTURE]: architecture, ...place.nodeSelector } };

/** Returns where the pods of a revision stand. */
export function resolveAgentPlace(
  { spec, status }: RevisionResource,
  { placement }: OperatorSettings,
): PodPlace {
  const place = mergePlace(placement.agents, spec.template.sourceRevisionConfig?.placement);
  return addArchitecture(place, status?.imageArchitecture);
}

/** Returns where the pods of a deployment's managed database stand. */
export const resolveDatabasePlace = (
  { spec }: DeploymentResource,
  { placement, imageArchitecture }: OperatorSettings,
): PodPlace =>
  addArchitecture(mergePlace(placement.databases, spec.database?.placement), imageArchitecture);

/** Returns where pods of the platform's own images stand that no deployment places. */
export const resolveInstalledPlace = (
  kind: 'builds' | 'stores',
  { placement, imageArchitecture }: OperatorSettings,
): PodPlace => addArchitecture(placement[kind], imageArchitecture);

/** Returns the installation's place with the fields that a deployment sets instead, without those that say nothing. */
function mergePlace(installed: PodPlace, own: PodPlace | undefined): PodPlace {
  const both = Object.entries({ ...installed, ...own });
  return Object.fromEntries(
    both.filter(([, value]) => !isComposite(value) || Object.keys(value).length > 0),
  );
}

/** Returns the fields of a pod that say where it stands, for pods with these labels. */
export const buildPlacementFields = (
  { topologySpreadConstraints: spread, ...place }: PodPlace,
  labels: Record<string, string>,
): object => ({
  ...place,
  ...(spread !== undefined && {
    topologySpreadConstraints: spread.map((constraint) => ({
      labelSelector: { matchLabels: labels },
      ...constraint,
    })),
  }),
});

/** Returns a sentence with the parts of a place for which no node may take a pod. Undefined if it has none. */
export function describePlacement({
  nodeSelector = {},
  affinity,
  topologySpreadConstraints,
  ...classes
}: PodPlace): string | undefined {
  const labels = Object.entries(nodeSelector).map(([key, value]) => `${key}=${value}`);
  const parts = [
    ...(labels.length > 0 ? [`nodes with ${labels.join(', ')}`] : []),
    ...(affinity === undefined ? [] : [`affinity ${JSON.stringify(affinity).slice(0, 500)}`]),
    ...(topologySpreadConstraints ?? []).map(
      (constraint) => `spread over ${(constraint as { topologyKey?: string }).topologyKey}`,
    ),
    ...(classes.runtimeClassName === undefined
      ? []
      : [`runtime class ${classes.runtimeClassName}`]),
    ...(classes.priorityClassName === undefined
      ? []
      : [`priority class ${classes.priorityClassName}`]),
  ];
  return parts.length === 0 ? undefined : `The placement asks for ${parts.join('; ')}.`;
}
