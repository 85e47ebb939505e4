import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { operatorConfig } from '../../../src/config/operator.ts';
import { kinds, type Kind, type Kube, type KubeObject } from '../../../src/kube/kube.ts';
import { desiredDeployment } from '../../../src/operator/deployment/desired.ts';
import { desiredRevision } from '../../../src/operator/revision/desired.ts';
import { isRolledOut, isSetUp } from '../../../src/operator/workload-state.ts';
import { API_VERSION, type DeploymentResource } from '../../../src/schema/custom-resources.ts';
import { revisionOf } from '../../../src/schema/revision-of.ts';
import { SETTINGS } from './process.ts';

/*
 * What Kubernetes itself needs on this machine: the same children, sent by a client that waits for nothing, until all their pods are ready.
 * No REST API, no custom resource, no status of ours, no order.
 */

const AT_ONCE = 10;
const KINDS: Kind[] = [kinds.service, kinds.networkPolicy, kinds.statefulSet, kinds.workload];
const settings = operatorConfig(SETTINGS).settings;

/** Milliseconds until the pods of so many deployments are ready, spread over the namespaces. */
export async function withoutOperator(kube: Kube, namespaces: string[], count: number): Promise<number> {
  const families = Array.from({ length: count }, (_, index) =>
    childrenOf(`floor-${index}`, namespaces[index % namespaces.length] as string),
  );
  const started = performance.now();
  const work = async (): Promise<void> => {
    for (let next = families.pop(); next !== undefined; next = families.pop())
      for (const child of next) await kube.apply(KINDS.find(({ kind }) => kind === child.kind) as Kind, child);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  while (!(await isUp(kube))) await wait(500);
  return performance.now() - started;
}

async function isUp(kube: Kube): Promise<boolean> {
  const [workloads, sets] = await Promise.all([kube.all(kinds.workload), kube.all(kinds.statefulSet)]);
  return workloads.every(isRolledOut) && sets.every(isSetUp);
}

/** Without owners, which are not there: the garbage collector would take them for left over. */
function childrenOf(name: string, namespace: string): KubeObject[] {
  const deployment: DeploymentResource = {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: { name, namespace, uid: randomUUID(), generation: 1 },
    spec: { source: 'external_container', template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:1' } } },
  };
  const revision = revisionOf(deployment);
  const { replicas } = settings.profile;
  const given = { wish: { api: replicas, queue: replicas }, secretName: undefined, address: { secretName: name, key: 'uri' } };
  const children = [
    ...desiredDeployment(deployment, settings, { active: revision.metadata.name }),
    ...desiredRevision(revision, given, settings),
  ];
  return children.map((child) => {
    const { ownerReferences: _owner, ...metadata } = child.metadata;
    return { ...child, metadata };
  });
}
