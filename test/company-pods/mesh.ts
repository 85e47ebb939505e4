import { BUILD_NAMESPACE } from '../../dev/run/builds.ts';
import type { Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { NAMESPACE } from '../restore/stage.ts';

/* A policy of the cluster that stands for meshes: each of its containers runs until somebody ends it. */
const GROUP = 'admissionregistration.k8s.io/v1';
const NAME = 'never-ending-mesh';

/** The container of a mesh that leaves out pods which ask for it, as Istio does. */
export const POLITE = 'mesh-polite';
/** The container of a mesh that asks nobody. Only pods that are to end get it. */
export const SILENT = 'mesh-silent';
/** The same as a sidecar of Kubernetes' own kind. */
export const SILENT_INIT = 'mesh-silent-init';

/** A container that ends by SIGTERM alone, and may stand in namespaces with restricted pods. */
const container = (list: 'containers' | 'initContainers', name: string, image: string): string => {
  const type = `Object.spec.${list}`;
  const restart = list === 'initContainers' ? 'restartPolicy: "Always",' : '';
  return `${type}{name: "${name}", image: "${image}", ${restart} command: ["/usr/bin/tini", "--", "sleep", "1000000"],
    securityContext: ${type}.securityContext{allowPrivilegeEscalation: false, runAsNonRoot: true, runAsUser: 10001,
      capabilities: ${type}.securityContext.capabilities{drop: ["ALL"]},
      seccompProfile: ${type}.securityContext.seccompProfile{type: "RuntimeDefault"}}}`;
};

/** Adds a container to a list of a pod, which may not have that list yet. */
function adding(list: 'containers' | 'initContainers', added: string): object {
  const add = (path: string, value: string): string =>
    `JSONPatch{op: "add", path: "/spec/${path}", value: ${value}}`;
  const behind = add(`${list}/-`, added);
  const expression = `has(object.spec.${list}) ? [${behind}] : [${add(list, 'dyn([])')}, ${behind}]`;
  return { patchType: 'JSONPatch', jsonPatch: { expression } };
}

const policy = (name: string, expression: string, mutations: object[]): object[] => [
  {
    apiVersion: GROUP,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        namespaceSelector: {
          matchExpressions: [
            {
              key: 'kubernetes.io/metadata.name',
              operator: 'In',
              values: [NAMESPACE, BUILD_NAMESPACE],
            },
          ],
        },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      matchConditions: [{ name: 'takes-part', expression }],
      mutations,
    },
  },
  {
    apiVersion: GROUP,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name },
  },
];

/** Puts containers of both meshes into the pods of agents and builds. */
export async function injectMesh(kubectl: Kubectl, image: string): Promise<void> {
  const items = [
    ...policy(`${NAME}-silent`, "object.spec.restartPolicy != 'Always'", [
      adding('containers', container('containers', SILENT, image)),
      adding('initContainers', container('initContainers', SILENT_INIT, image)),
    ]),
    ...policy(
      `${NAME}-polite`,
      "object.metadata.?labels[?'sidecar.istio.io/inject'].orValue('true') != 'false'",
      [adding('containers', container('containers', POLITE, image))],
    ),
  ];
  await kubectl.apply({ apiVersion: 'v1', kind: 'List', items });
  const probe = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe', namespace: NAMESPACE },
    spec: {
      restartPolicy: 'Never',
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'probe',
          image,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
  await until('the policies are obeyed', async () => {
    const made = await kubectl.apply(probe, '--dry-run=server', '-o', 'json');
    return [SILENT, SILENT_INIT, POLITE].every((name) => made.includes(`"name": "${name}"`));
  });
}

/** Removes the policies, if they are there. */
export const removeMesh = (kubectl: Kubectl): Promise<string> =>
  kubectl(
    'delete',
    '--ignore-not-found',
    ...['silent', 'polite'].flatMap((kind) => [
      `mutatingadmissionpolicies/${NAME}-${kind}`,
      `mutatingadmissionpolicybindings/${NAME}-${kind}`,
    ]),
  );
