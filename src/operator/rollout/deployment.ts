import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { RECONCILE_NOW, REVISION } from '../../schema/platform/objects/labels.ts';
import { toLabelValue } from '../../schema/names.ts';

/** Returns true if nothing serves yet that new pods could disturb. */
export const isNothingServing = (deployment: DeploymentResource | undefined): boolean =>
  deployment?.status?.activeRevision === undefined;

/**
 * Returns true if the pods of a revision may be made: once the database takes connections. If nothing serves yet, they
 * start beside it, so that images are pulled and volumes attached meanwhile. The server waits for its database.
 */
export const mayStart = ({
  deployment,
  hasAddress,
  isDatabaseReady,
}: {
  deployment: DeploymentResource | undefined;
  hasAddress: boolean;
  isDatabaseReady: boolean;
}): boolean => hasAddress && (isDatabaseReady || isNothingServing(deployment));

/** Returns the last request to reconcile at once, as the status keeps it. */
export const reconcileRequest = ({ metadata }: DeploymentResource): string | undefined =>
  metadata.annotations?.[RECONCILE_NOW]?.slice(0, 128);

/** Returns true if nobody has asked for a reconcile since the last one. */
export const isRequestHandled = (deployment: DeploymentResource): boolean =>
  deployment.status?.lastHandledReconcileAt === reconcileRequest(deployment);

/**
 * Returns the label of the revision that a Service sends clients to. Undefined for the Service of a database, and
 * without one.
 */
export const getSelectedRevision = (service: KubeObject | undefined): string | undefined =>
  (service?.spec as { selector?: Record<string, string> } | undefined)?.selector?.[REVISION];

/** Returns true if the Service sends clients to the revision of this name. */
export const hasTraffic = (service: KubeObject | undefined, revision: string): boolean =>
  getSelectedRevision(service) === toLabelValue(revision);
