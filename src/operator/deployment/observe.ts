import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { COMPONENT, type Component } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import { BY_DEPLOYMENT, type Caches } from '../family/caches.ts';
import { isPodOver } from '../pods/diagnose.ts';

/** What is there for a deployment. */
export type DeploymentWorld = {
  revisions: RevisionResource[];
  /** Revisions that an earlier deployment of the same name left, not gone yet. */
  foreign: RevisionResource[];
  children: KubeObject[];
  database: KubeObject | undefined;
  databasePods: KubeObject[];
  /** Those that run or are to: one that a node gave up stays in the list for as long as its workload. */
  agentPods: KubeObject[];
  passwordPods: KubeObject[];
  service: KubeObject | undefined;
  workloads: KubeObject[];
};

export function observeDeployment(caches: Caches, deployment: DeploymentResource): DeploymentWorld {
  const { namespace, name, uid } = deployment.metadata;
  const key = `${namespace}/${name}`;
  const all = caches.revisions.byIndex(BY_DEPLOYMENT, key);
  const isMine = ({ metadata }: KubeObject): boolean => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  const owned = [caches.statefulSets, caches.services, caches.policies, caches.budgets].flatMap((cache) =>
    cache.byIndex(BY_DEPLOYMENT, key).filter(isMine),
  );
  const at = (kind: string, child: string): KubeObject | undefined =>
    owned.find((object) => object.kind === kind && object.metadata.name === child);
  const pods = caches.pods.byIndex(BY_DEPLOYMENT, key);
  const podsOf = (...components: Component[]): KubeObject[] =>
    pods.filter(({ metadata }) => components.some((component) => component === metadata.labels?.[COMPONENT]));
  return {
    revisions: all.filter((revision) => revision.spec.deploymentUid === uid),
    foreign: all.filter((revision) => revision.spec.deploymentUid !== uid),
    children: owned,
    database: at('StatefulSet', names.database(name)),
    databasePods: podsOf('database'),
    agentPods: podsOf('api', 'queue').filter((pod) => !isPodOver(pod)),
    passwordPods: podsOf('password'),
    service: at('Service', names.service(name)),
    workloads: caches.workloads.byIndex(BY_DEPLOYMENT, key),
  };
}
