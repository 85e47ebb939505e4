import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { DATA_USER } from '../../../schema/platform/objects/labels.ts';
import type { WorkloadSpec } from '../../objects/workload-spec.ts';

/*
 * The user to whom a database's data belongs: Postgres starts as no other one. It is the image's, or one that the
 * namespace gives its pods.
 */

const OF_NAMESPACE = 'namespace';

/** Returns the annotation of a volume claim whose data belongs to the user that its namespace gives. */
export const buildDataUser = ({ fixedIds }: OperatorSettings): Record<string, string> =>
  fixedIds ? {} : { [DATA_USER]: OF_NAMESPACE };

/** Returns the settings with which a pod can read the data of a volume claim, whatever new pods get today. */
export const resolveDataSettings = <T extends OperatorSettings>(
  settings: T,
  { metadata }: KubeObject,
): T => ({
  ...settings,
  fixedIds: metadata.annotations?.[DATA_USER] !== OF_NAMESPACE,
});

/** Returns whether the pods of a set name their user. */
export const hasFixedUser = ({ spec }: KubeObject): boolean =>
  (spec as WorkloadSpec).template.spec.securityContext?.runAsUser !== undefined;
