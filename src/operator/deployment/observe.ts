import type { KindTable } from '../kinds/row.ts';
import type { Caches } from '../view/caches.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, type Component } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { getDatabaseEngine } from '../database/engines.ts';
import { BY_DEPLOYMENT, listOwnedCaches } from '../view/caches.ts';
import { isPodOver } from '../pods/diagnose.ts';
import type { DeploymentWorld } from './world.ts';

/** Observes the objects of a deployment, once for each reconcile. */
export function observeDeployment(
  { caches, table }: { caches: Caches; table: KindTable },
  deployment: DeploymentResource,
): DeploymentWorld {
  const { namespace, name, uid } = deployment.metadata;
  const key = `${namespace}/${name}`;
  const all = caches.revisions.listByIndex(BY_DEPLOYMENT, key);
  const isMine = ({ metadata }: KubeObject): boolean =>
    metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  const children = listOwnedCaches(caches, table).flatMap((cache) =>
    cache.listByIndex(BY_DEPLOYMENT, key).filter(isMine),
  );
  const pods = caches.pods.listByIndex(BY_DEPLOYMENT, key);
  const filterPods = (...components: Component[]): KubeObject[] =>
    pods.filter(({ metadata }) =>
      components.some((component) => component === metadata.labels?.[COMPONENT]),
    );
  return {
    revisions: all.filter((revision) => revision.spec.deploymentUid === uid),
    foreign: all.filter((revision) => revision.spec.deploymentUid !== uid),
    children,
    ...findDatabaseAndService(deployment, children),
    databasePods: filterPods('database'),
    agentPods: filterPods('api', 'queue').filter((pod) => !isPodOver(pod)),
    passwordPods: filterPods('password'),
    backups: caches.backups
      .listByIndex(BY_DEPLOYMENT, key)
      .filter(({ spec }) => spec.deploymentUid === uid),
    backupPods: filterPods('backup'),
    restorePods: filterPods('restore'),
    verifyPods: filterPods('verify'),
    workloads: caches.workloads.listByIndex(BY_DEPLOYMENT, key),
    place: caches.namespaces.get(namespace ?? ''),
    apiServer: listEndpointAddresses(caches.apiServers.list()),
    gateways: caches.gateways.list(),
  };
}

/** Finds the workload of the database, and the Service, among the objects of a deployment. */
export const findDatabaseAndService = (
  deployment: DeploymentResource,
  objects: KubeObject[],
): { database: KubeObject | undefined; service: KubeObject | undefined } => ({
  database: getDatabaseEngine(deployment.spec).runner(deployment, objects),
  service: objects.find(
    ({ kind, metadata }) =>
      kind === 'Service' && metadata.name === names.service(deployment.metadata.name),
  ),
});

/** Returns the addresses at which the API server is reached without its Service. */
const listEndpointAddresses = (slices: KubeObject[]): string[] =>
  slices.flatMap((slice) =>
    ((slice as { endpoints?: { addresses?: string[] }[] | null }).endpoints ?? []).flatMap(
      ({ addresses = [] }) => addresses,
    ),
  );
