import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { RECONCILE_NOW, REVISION } from '../../schema/labels.ts';
import { labelValue } from '../../schema/names.ts';

/** Nothing serves yet that new pods could disturb. */
export const isNothingServing = (deployment: DeploymentResource | undefined): boolean => deployment?.status?.activeRevision === undefined;

type Readiness = { deployment: DeploymentResource | undefined; hasAddress: boolean; isDatabaseReady: boolean };

/**
 * The pods of a revision may be made once the database takes connections. Where nothing serves yet they start beside
 * it, so that images are pulled and volumes are attached meanwhile; the server waits for its database.
 */
export const mayStart = ({ deployment, hasAddress, isDatabaseReady }: Readiness): boolean =>
  hasAddress && (isDatabaseReady || isNothingServing(deployment));

/** Returns the last request to reconcile at once, as the status keeps it. */
export const reconcileRequest = ({ metadata }: DeploymentResource): string | undefined =>
  metadata.annotations?.[RECONCILE_NOW]?.slice(0, 128);

/** Nobody has asked to look again since the last time. */
export const isRequestHandled = (deployment: DeploymentResource): boolean =>
  deployment.status?.lastHandledReconcileAt === reconcileRequest(deployment);

/**
 * Returns the label of the revision that a Service sends clients to; undefined for the Service of a database, and
 * without one.
 */
export const selectedBy = (service: KubeObject | undefined): string | undefined =>
  (service?.spec as { selector?: Record<string, string> } | undefined)?.selector?.[REVISION];

/** The Service sends clients to the revision of this name. */
export const hasTraffic = (service: KubeObject | undefined, revision: string): boolean => selectedBy(service) === labelValue(revision);
