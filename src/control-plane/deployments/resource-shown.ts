import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';

/** kubectl keeps the whole object in it once more. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns a deployment as `kubectl get -o yaml` shows it: without managedFields and the copy of kubectl apply. */
export function resourceShown({ apiVersion, kind, metadata, spec, status }: DeploymentResource): DeploymentResource {
  const { managedFields: _fields, annotations = {}, ...rest } = metadata;
  const { [LAST_APPLIED]: _applied, ...others } = annotations;
  const shown = { ...rest, ...(Object.keys(others).length > 0 && { annotations: others }) };
  return { apiVersion, kind, metadata: shown, spec, ...(status !== undefined && { status }) };
}
