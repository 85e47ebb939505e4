import type { Grant } from '../../config/platform/control-plane.ts';
import type {
  Deployment,
  DeploymentPatchRequest,
} from '../../schema/platform/deployment/deployment.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';

/*
 * Where pods stand, and on which storage, is a matter of the whole cluster: a toleration opens nodes that are kept for
 * others, a priority class ends others' pods, and an anti-affinity keeps them off a node.
 */

type PlaceFields = Pick<DeploymentPatchRequest, 'source_config' | 'source_revision_config'>;

const pickPlaceFields = (asked: PlaceFields): Record<string, unknown> => ({
  'source_revision_config.placement': asked.source_revision_config?.placement,
  'source_config.database_placement': asked.source_config?.database_placement,
  'source_config.storage_class': asked.source_config?.storage_class,
});

/** Returns the fields of a request about places that are not granted, or are about a database outside the platform. */
export function checkPlaces(
  asked: PlaceFields,
  {
    current,
    grants,
    hasDatabase,
  }: { current?: Deployment; grants: readonly Grant[]; hasDatabase: boolean },
): string[] {
  const before = current === undefined ? {} : pickPlaceFields(current);
  // A client may send a whole answer back, with places that kubectl gave.
  const changed = Object.entries(pickPlaceFields(asked)).filter(
    ([path, value]) =>
      value !== null &&
      value !== undefined &&
      formatCanonicalJson(value) !== formatCanonicalJson(before[path] ?? null),
  );
  return changed.flatMap(([path]) => {
    if (!grants.includes('placement'))
      return [`${path}: not allowed here (an administrator may grant "placement")`];
    const isOfDatabase = path.startsWith('source_config.');
    return isOfDatabase && !hasDatabase
      ? [`${path}: only for a managed database; its secrets name another one`]
      : [];
  });
}
