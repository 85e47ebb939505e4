import { Type, type Static, type TSchema } from 'typebox';
import { LabelSelector } from './pod-parts.ts';
import { Closed, MapOf, StringEnum } from '../types.ts';

/*
 * Where the pods of one deployment stand, in the fields and words of a pod of Kubernetes. They are described field by
 * field, as the other parts of a pod that users write.
 */

const maybe = Type.Optional;
const object = <P extends Record<string, TSchema>>(properties: P, description?: string) =>
  Closed(properties, { ...(description !== undefined && { description }) });
const list = <S extends TSchema>(items: S, maxItems: number) => Type.Array(items, { maxItems });
const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const labelKeys = maybe(list(text(317), 16));
const weight = Type.Integer({ minimum: 1, maximum: 100 });

const Toleration = object({
  key: maybe(Type.String({ maxLength: 317 })),
  operator: maybe(StringEnum(['Exists', 'Equal', 'Lt', 'Gt'])),
  value: maybe(Type.String({ maxLength: 63 })),
  effect: maybe(StringEnum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])),
  tolerationSeconds: maybe(Type.Integer()),
});

const NodeRequirement = object({
  key: text(317),
  operator: StringEnum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
  values: maybe(list(Type.String({ maxLength: 63 }), 64)),
});
const NodeTerm = object({ matchExpressions: maybe(list(NodeRequirement, 16)), matchFields: maybe(list(NodeRequirement, 4)) });
const nodeAffinity = object({
  requiredDuringSchedulingIgnoredDuringExecution: maybe(object({ nodeSelectorTerms: list(NodeTerm, 16) })),
  preferredDuringSchedulingIgnoredDuringExecution: maybe(list(object({ weight, preference: NodeTerm }), 16)),
});

const PodTerm = object({
  topologyKey: text(317),
  labelSelector: maybe(LabelSelector),
  namespaces: maybe(list(text(63), 16)),
  namespaceSelector: maybe(LabelSelector),
  matchLabelKeys: labelKeys,
  mismatchLabelKeys: labelKeys,
});
const podAffinity = object({
  requiredDuringSchedulingIgnoredDuringExecution: maybe(list(PodTerm, 16)),
  preferredDuringSchedulingIgnoredDuringExecution: maybe(list(object({ weight, podAffinityTerm: PodTerm }), 16)),
});

const SpreadConstraint = object({
  maxSkew: Type.Integer({ minimum: 1 }),
  topologyKey: text(317),
  whenUnsatisfiable: StringEnum(['DoNotSchedule', 'ScheduleAnyway']),
  labelSelector: maybe(LabelSelector),
  matchLabelKeys: labelKeys,
  minDomains: maybe(Type.Integer({ minimum: 1 })),
  nodeAffinityPolicy: maybe(StringEnum(['Honor', 'Ignore'])),
  nodeTaintsPolicy: maybe(StringEnum(['Honor', 'Ignore'])),
});

const one = {
  nodeSelector: maybe(MapOf(Type.String({ maxLength: 63 }), { maxProperties: 32, description: 'Labels of the nodes that take the pods.' })),
  tolerations: maybe(Type.Array(Toleration, { maxItems: 32, description: 'Taints of nodes that the pods bear.' })),
  affinity: maybe(
    object(
      { nodeAffinity: maybe(nodeAffinity), podAffinity: maybe(podAffinity), podAntiAffinity: maybe(podAffinity) },
      'Nodes and pods that they are drawn to, or kept from.',
    ),
  ),
  priorityClassName: maybe(Type.String({ minLength: 1, maxLength: 253, description: 'Priority class of the pods.' })),
  runtimeClassName: maybe(Type.String({ minLength: 1, maxLength: 253, description: 'Runtime class of the pods.' })),
};

const REPLACES = 'A field that is set replaces the same field of the installation (settings.placement).';

/** Where the pods of a managed database stand. There is one, so nothing is to be spread. */
export const DatabasePlacement = Closed(one, {
  description: `Where the pod of the managed database stands, in the fields of a pod of Kubernetes. ${REPLACES} A change starts the pod again.`,
});

/** Where the pods of agents stand. */
export const AgentPlacement = Closed(
  {
    ...one,
    topologySpreadConstraints: maybe(
      Type.Array(SpreadConstraint, {
        maxItems: 8,
        description: 'How the pods are spread. Without a labelSelector, a constraint is about the pods of one workload.',
      }),
    ),
  },
  { description: `Where the pods of agents stand, in the fields of a pod of Kubernetes. ${REPLACES} A change makes a new revision.` },
);

export type AgentPlacement = Static<typeof AgentPlacement>;
