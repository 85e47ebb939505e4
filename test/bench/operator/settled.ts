import { randomUUID } from 'node:crypto';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import { AlreadyExists } from '../../../src/kube/errors.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../../src/kube/kube.ts';
import { getDatabaseEngine } from '../../../src/operator/database/engines.ts';
import { desiredDeployment } from '../../kit/facts.ts';
import { addIntentHash } from '../../../src/operator/kernel/owned.ts';
import { buildRevisionWorkloads } from '../../../src/operator/revision/desired.ts';
import { deriveSeenTemplate } from '../../../src/operator/pods/settled-template.ts';
import { READY } from '../../../src/schema/platform/objects/conditions.ts';
import {
  type DeploymentResource,
  type RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { names } from '../../../src/schema/names.ts';
import { hashJson } from '../../../src/schema/canonical-json.ts';
import { conditionOf } from '../../kit/api-server.ts';
import { until } from '../../kit/until.ts';
import { SETTINGS } from './process.ts';

/*
 * Deployments at rest, as the API server stores them. A real operator brings one up, and the others are its copies with
 * names, uids, addresses and hashes of their own. The operator proves that they are right, because it writes nothing
 * when it meets them.
 */

const NAMESPACE = 'default';
export const PATTERN = 'settled-00000';
export const settledName = (index: number): string => `settled-${String(index).padStart(5, '0')}`;

type ResourceSpec = NonNullable<DeploymentResource['spec']['template']['resourceSpec']>;

/** Every object of one settled deployment. */
export type Family = {
  deployment: DeploymentResource;
  revision: RevisionResource;
  project: KubeObject;
  children: KubeObject[];
};

const CHILDREN: Kind[] = [kinds.service, kinds.networkPolicy, kinds.statefulSet, kinds.workload];

/**
 * Brings one deployment up, with an operator that is already running. This function reports for the pods what they
 * would do. No pod stays.
 */
export async function settleOne(kube: Kube, resourceSpec?: ResourceSpec): Promise<Family> {
  await kube.create(kinds.deployment, {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: { name: PATTERN, namespace: NAMESPACE },
    spec: {
      source: 'external_container',
      template: {
        sourceRevisionConfig: { imageUri: 'registry.example/agent:1' },
        ...(resourceSpec && { resourceSpec }),
      },
    },
  });
  await until('the pattern is Ready', async () => {
    for (const kind of [kinds.statefulSet, kinds.workload])
      for (const object of await kube.listAll(kind, { namespace: NAMESPACE }))
        await tellReady(kube, kind, object);
    return (
      conditionOf(
        await kube.get(kinds.deployment, { namespace: NAMESPACE, name: PATTERN }),
        READY,
      ) === 'True'
    );
  });
  for (const { metadata } of await kube.listAll(kinds.pod, { namespace: NAMESPACE }))
    await kube.delete(kinds.pod, metadata);
  const one = async <T extends KubeObject>(kind: Kind<T>): Promise<T> =>
    (await kube.listAll(kind, { namespace: NAMESPACE }))[0] as T;
  const lists = await Promise.all(
    CHILDREN.map((kind) => kube.listAll(kind, { namespace: NAMESPACE })),
  );
  return {
    deployment: await one(kinds.deployment),
    revision: await one(kinds.revision),
    project: await one<KubeObject>(kinds.tracingProject),
    children: lists.flat().filter(({ metadata }) => metadata.name.startsWith(PATTERN)),
  };
}

async function tellReady(
  kube: Kube,
  kind: Kind,
  { metadata, spec, status }: KubeObject,
): Promise<void> {
  const { replicas = 1 } = spec as { replicas?: number };
  const { generation = 1 } = metadata;
  const counts = {
    replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    updatedReplicas: replicas,
  };
  const told = status as { observedGeneration?: number };
  if (told.observedGeneration === generation) return;
  if (kind === kinds.workload)
    await makePod(kube, metadata.name, (spec as { template: PodTemplate }).template);
  await kube.patchStatus(kind, metadata, { observedGeneration: generation, ...counts });
}

type PodTemplate = {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: object;
};

/** A revision is deployed once one of its pods was seen ready. */
async function makePod(kube: Kube, name: string, { metadata, spec }: PodTemplate): Promise<void> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name, namespace: NAMESPACE },
    spec,
  };
  const isMade = await kube.create(kinds.pod, pod).catch((error: unknown) => {
    if (error instanceof AlreadyExists) return undefined;
    throw error;
  });
  if (isMade)
    await kube.patchStatus(kinds.pod, pod.metadata, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
    });
}

const settings = readOperatorConfig(SETTINGS).settings;

/** Returns the objects of copies number `from` to `to` (exclusive) of the family. */
export function* copies(family: Family, from: number, to: number): Generator<KubeObject> {
  for (let index = from; index < to; index += 1) yield* copyOf(family, index);
}

function copyOf(family: Family, index: number): KubeObject[] {
  const { deployment, revision, project, children } = renamed(family, index);
  const database = children.find(({ kind }) => kind === 'StatefulSet');
  const intents = [
    ...desiredDeployment(deployment, settings, { database, active: revision.metadata.name }),
    ...buildRevisionWorkloads(revision, given(children, deployment), settings),
  ];
  const hashed = children.map((child) => {
    const intent = intents.find(
      ({ kind, metadata }) => kind === child.kind && metadata.name === child.metadata.name,
    );
    if (intent === undefined)
      throw new Error(`${child.kind} ${child.metadata.name} is not what the operator makes`);
    const annotations = {
      ...child.metadata.annotations,
      ...addIntentHash(intent).metadata.annotations,
    };
    return {
      ...addressed(child, index),
      metadata: { ...child.metadata, annotations, uid: randomUUID() },
    };
  });
  const seen = (kind: string, suffix = ''): string | undefined =>
    deriveSeenTemplate(
      hashed.find((child) => child.kind === kind && child.metadata.name.endsWith(suffix)),
      undefined,
    );
  const pods = {
    apiTemplate: seen('Deployment', '-api'),
    queueTemplate: seen('Deployment', '-queue'),
  };
  const told = [
    { ...deployment, status: { ...deployment.status, databaseTemplate: seen('StatefulSet') } },
    { ...revision, status: { ...revision.status, ...pods, specHash: hashJson(revision.spec) } },
  ];
  return [
    ...(told as unknown as KubeObject[]),
    { ...project, metadata: { ...project.metadata, uid: randomUUID() } },
    ...hashed,
  ];
}

function given(pattern: KubeObject[], deployment: DeploymentResource) {
  const replicas = (suffix: string): number => {
    const found = pattern.find(
      ({ kind, metadata: { name } }) => kind === 'Deployment' && name.endsWith(suffix),
    );
    return (found?.spec as { replicas: number } | undefined)?.replicas ?? 0;
  };
  return {
    wish: { api: replicas('-api'), queue: replicas('-queue') },
    secretName: undefined,
    address: getDatabaseEngine(deployment.spec).address(deployment),
  };
}

/** Replaces everything in the text that belongs to the pattern itself. */
function renamed(family: Family, index: number): Family {
  const { deployment, revision, project } = family;
  const [oldUid = '', newUid] = [deployment.metadata.uid, randomUUID()];
  const name = settledName(index);
  const tenant = (project.spec as { tenantId: string }).tenantId;
  const pairs: [string, string][] = [
    [names.tracingProject(tenant, PATTERN), names.tracingProject(tenant, name)],
    [names.databaseSecret(PATTERN, oldUid), names.databaseSecret(name, newUid)],
    [names.databaseVolume(oldUid), names.databaseVolume(newUid)],
    [oldUid, newUid],
    [revision.metadata.uid ?? '', randomUUID()],
    [PATTERN, name],
  ];
  return JSON.parse(
    pairs.reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(family)),
  ) as Family;
}

/** A Service has an address of its own. */
function addressed(child: KubeObject, index: number): KubeObject {
  const spec = child.spec as { clusterIP?: string };
  if (child.kind !== 'Service' || spec.clusterIP === undefined || spec.clusterIP === 'None')
    return child;
  const address = `10.0.${100 + Math.floor(index / 250)}.${1 + (index % 250)}`;
  return { ...child, spec: { ...spec, clusterIP: address, clusterIPs: [address] } };
}
