import { loadCredentials } from '../../src/kube/credentials.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { buildKubePath } from '../../src/kube/paths.ts';
import { Transport } from '../../src/kube/transport.ts';
import { buildCrd } from '../../src/schema/platform/resources/crd.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import {
  COMPONENT,
  DEPLOYMENT,
  MANAGED_BY,
  OPERATOR,
  REVISION,
} from '../../src/schema/platform/objects/labels.ts';
import { newDeployment } from '../kit/objects.ts';
import { until } from '../kit/until.ts';

/* Objects that somebody with rights in one namespace writes to harm everybody else. */

const DEEP = `${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`;
const HOLE = '"@deep"';
const UID = '99999999-9999-4999-8999-999999999999';
/** Bidirectional marks, a zero character, an astral character and combining marks. */
const ODD = 'a\u202Eb\u0000c\u{1F608}\u0301\u0301\u0301\uFEFF';

/** Returns a map of some megabyte. */
const wide = (key: (index: number) => string = (index) => `k${index}`): Record<string, string> =>
  Object.fromEntries(Array.from({ length: 16_000 }, (_, index) => [key(index), 'x'.repeat(50)]));

/** An own field `__proto__`, as JSON may have it. */
const polluted = (): object =>
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": null}}') as object;

export type Hostile = { kind: Kind; object: KubeObject };

const SPECS: Record<string, object> = {
  Deployment: {
    source: 'external_container',
    template: { sourceRevisionConfig: { imageUri: 'agent:1' } },
  },
  Revision: {
    deployment: 'nobody',
    deploymentUid: UID,
    number: 1,
    hash: 'x',
    source: 'external_container',
    template: {},
  },
  Listener: { computeId: 'x', namespaces: ['nowhere'] },
  TracingProject: { projectName: 'x' },
};

const customKinds = [
  kinds.deployment,
  kinds.revision,
  kinds.listener,
  kinds.tracingProject,
] as Kind[];

/** Returns hostile custom resources of every kind that is watched, under names that begin with `prefix`. */
export function hostileResources(namespace: string, prefix: string): Hostile[] {
  return customKinds.flatMap((kind) => {
    const spec = SPECS[kind.kind] ?? {};
    const made = (name: string, more: object, metadata: object = {}): Hostile => ({
      kind,
      object: {
        apiVersion: API_VERSION,
        kind: kind.kind,
        metadata: { namespace, name: `${prefix}-${name}`, ...metadata },
        ...more,
      },
    });
    return [
      made('deep', { spec: { ...spec, extra: '@deep' } }),
      made('wide', { spec: { ...spec, extra: wide() } }),
      made('odd', { spec: { ...spec, [ODD]: ODD, ...polluted(), extra: polluted() } }),
      made('labels', { spec }, { labels: wide((index) => `l${index}`) }),
      made('shapeless', {
        spec: { deployment: {}, namespaces: 'all', projectName: [[]], extra: null },
      }),
      made('status', { spec }),
    ];
  });
}

/** Statuses that somebody with the right to write them may write. "@deep" stands for what is nested too deep. */
export const HOSTILE_STATUSES: [string, object][] = [
  [
    'of other types',
    {
      conditions: 'none',
      phase: { a: 1 },
      message: [[]],
      activeRevision: 7,
      endedAt: 'never',
      url: null,
    },
  ],
  [
    'with conditions that are none',
    { conditions: [null, 1, [], { type: { a: 1 } }], databaseSecret: {}, serverVersion: [] },
  ],
  [
    'that names what is not there',
    {
      activeRevision: 'nobody-00009',
      latestRevision: '../x',
      phase: 'READY',
      observedGeneration: 1e9,
    },
  ],
  ['nested too deep', { extra: '@deep' }],
  ['of a megabyte', { extra: wide() }],
];

/** Returns objects of Kubernetes' own kinds with labels and owners that only the operator's have. */
export function forgedObjects(
  namespace: string,
  { victim, uid }: { victim: string; uid: string },
): Hostile[] {
  const forged = (kind: Kind, name: string, spec: object, labels: object = {}): Hostile => ({
    kind,
    object: {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: {
        namespace,
        name: `forged-${name}`,
        labels: {
          [MANAGED_BY]: OPERATOR,
          [DEPLOYMENT]: victim,
          [COMPONENT]: 'database',
          ...labels,
        },
        annotations: {
          [DEPLOYMENT]: victim,
          [REVISION]: `${victim}-00001`,
          odd: ODD.replaceAll('\u0000', ''),
        },
        ownerReferences: [{ apiVersion: API_VERSION, kind: 'Deployment', name: victim, uid }],
      },
      spec,
    },
  });
  const app = { matchLabels: { app: 'x' } };
  const pod = { containers: [{ name: 'x', image: 'mute' }] };
  const template = { metadata: { labels: { app: 'x' } }, spec: pod };
  const many = wide((index) => `l${index}`);
  return [
    forged(kinds.pod, 'pod', pod),
    forged(kinds.pod, 'wide-pod', pod, many),
    forged(kinds.service, 'service', { ports: [{ port: 1 }] }, many),
    forged(kinds.workload, 'workload', { replicas: 0, selector: app, template }, many),
    forged(
      kinds.statefulSet,
      'set',
      { replicas: 0, selector: app, template, serviceName: 'x' },
      many,
    ),
    forged(kinds.networkPolicy, 'policy', { podSelector: {} }, many),
    forged(kinds.disruptionBudget, 'budget', { maxUnavailable: 1, selector: app }, many),
  ];
}

/** Writes objects as they are, because JSON.stringify takes none that are nested so deep. */
export async function rawWriter(kubeconfig: string) {
  const transport = new Transport(await loadCredentials(kubeconfig), 'test/hostile');
  const send = async (
    method: string,
    path: string,
    { body, type }: { body: object; type: string },
  ): Promise<number> => {
    const text = JSON.stringify(body).replaceAll(HOLE, DEEP);
    const answer = await transport.call({
      method,
      path,
      body: text,
      timeout: 100_000,
      headers: { 'content-type': type },
    });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 400)}`);
    return answer.status;
  };
  return {
    create: ({ kind, object }: Hostile) =>
      send('POST', buildKubePath(kind, { namespace: object.metadata.namespace }), {
        body: object,
        type: 'application/json',
      }),
    merge: (kind: Kind, ref: { namespace: string; name: string }, body: object, sub?: string) =>
      send('PATCH', buildKubePath(kind, ref, sub), { body, type: 'application/merge-patch+json' }),
    stop: async () => transport.close(),
  };
}

type Definition = {
  spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, object> } } }[] };
};

/**
 * Makes the definitions of the custom resources take everything, as those of an earlier version of the platform take
 * parts that are free in form.
 */
export async function loosenDefinitions(kube: Kube): Promise<void> {
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  for (const known of KINDS) {
    const definition = buildCrd(known) as KubeObject & Definition;
    const root = definition.spec.versions[0]?.schema.openAPIV3Schema as {
      properties: Record<string, object>;
    };
    Object.assign(root, {
      properties: { ...root.properties, spec: free, status: free },
      'x-kubernetes-validations': undefined,
    });
    for (const version of definition.spec.versions)
      Object.assign(version, { selectableFields: undefined });
    const { resourceVersion } = (
      await kube.get(kinds.customResourceDefinition, { name: definition.metadata.name })
    ).metadata;
    const metadata = {
      ...definition.metadata,
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    await kube.replace(kinds.customResourceDefinition, { ...definition, metadata });
  }
  await until('the definitions take everything', async () => {
    const probe = newDeployment('default', { metadata: { name: 'probe' } });
    const stored = await kube.create(
      kinds.deployment,
      { ...probe, spec: { ...probe.spec, free: { of: 'form' } } as never },
      { dryRun: true },
    );
    return 'free' in stored.spec;
  });
}
