import { Type, type Static, type TSchema } from 'typebox';
import { LabelSelector } from './pod-parts.ts';
import { buildClosedSchema, buildMapSchema, buildEnumSchema } from '../../types.ts';

/*
 * Where the pods of one deployment stand, in the fields and words of a pod of Kubernetes. They are described field by
 * field, as the other parts of a pod that users write.
 */

const maybe = Type.Optional;
const buildObjectSchema = <P extends Record<string, TSchema>>(
  properties: P,
  description?: string,
) => buildClosedSchema(properties, { ...(description !== undefined && { description }) });
const list = <S extends TSchema>(items: S, maxItems: number) => Type.Array(items, { maxItems });
const buildTextSchema = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const labelKeys = maybe(list(buildTextSchema(317), 16));
const weight = Type.Integer({ minimum: 1, maximum: 100 });

const Toleration = buildObjectSchema({
  key: maybe(Type.String({ maxLength: 317 })),
  operator: maybe(buildEnumSchema(['Exists', 'Equal', 'Lt', 'Gt'])),
  value: maybe(Type.String({ maxLength: 63 })),
  effect: maybe(buildEnumSchema(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])),
  tolerationSeconds: maybe(Type.Integer()),
});

const NodeRequirement = buildObjectSchema({
  key: buildTextSchema(317),
  operator: buildEnumSchema(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
  values: maybe(list(Type.String({ maxLength: 63 }), 64)),
});
const NodeTerm = buildObjectSchema({
  matchExpressions: maybe(list(NodeRequirement, 16)),
  matchFields: maybe(list(NodeRequirement, 4)),
});
const nodeAffinity = buildObjectSchema({
  requiredDuringSchedulingIgnoredDuringExecution: maybe(
    buildObjectSchema({ nodeSelectorTerms: list(NodeTerm, 16) }),
  ),
  preferredDuringSchedulingIgnoredDuringExecution: maybe(
    list(buildObjectSchema({ weight, preference: NodeTerm }), 16),
  ),
});

const PodTerm = buildObjectSchema({
  topologyKey: buildTextSchema(317),
  labelSelector: maybe(LabelSelector),
  namespaces: maybe(list(buildTextSchema(63), 16)),
  namespaceSelector: maybe(LabelSelector),
  matchLabelKeys: labelKeys,
  mismatchLabelKeys: labelKeys,
});
const podAffinity = buildObjectSchema({
  requiredDuringSchedulingIgnoredDuringExecution: maybe(list(PodTerm, 16)),
  preferredDuringSchedulingIgnoredDuringExecution: maybe(
    list(buildObjectSchema({ weight, podAffinityTerm: PodTerm }), 16),
  ),
});

const SpreadConstraint = buildObjectSchema({
  maxSkew: Type.Integer({ minimum: 1 }),
  topologyKey: buildTextSchema(317),
  whenUnsatisfiable: buildEnumSchema(['DoNotSchedule', 'ScheduleAnyway']),
  labelSelector: maybe(LabelSelector),
  matchLabelKeys: labelKeys,
  minDomains: maybe(Type.Integer({ minimum: 1 })),
  nodeAffinityPolicy: maybe(buildEnumSchema(['Honor', 'Ignore'])),
  nodeTaintsPolicy: maybe(buildEnumSchema(['Honor', 'Ignore'])),
});

const one = {
  nodeSelector: maybe(
    buildMapSchema(Type.String({ maxLength: 63 }), {
      maxProperties: 32,
      description: 'Labels that a node must have to run the pods.',
    }),
  ),
  tolerations: maybe(
    Type.Array(Toleration, { maxItems: 32, description: 'Node taints that the pods tolerate.' }),
  ),
  affinity: maybe(
    buildObjectSchema(
      {
        nodeAffinity: maybe(nodeAffinity),
        podAffinity: maybe(podAffinity),
        podAntiAffinity: maybe(podAffinity),
      },
      'Affinity and anti-affinity to nodes and pods.',
    ),
  ),
  priorityClassName: maybe(
    Type.String({ minLength: 1, maxLength: 253, description: 'Priority class of the pods.' }),
  ),
  runtimeClassName: maybe(
    Type.String({ minLength: 1, maxLength: 253, description: 'Runtime class of the pods.' }),
  ),
};

const REPLACES = 'A field that is set here replaces that of the installation (settings.placement).';

/** Where the pods of a managed database stand. There is one, so nothing is to be spread. */
export const DatabasePlacement = buildClosedSchema(one, {
  description: `Where the managed database's pod may run, in the fields of a Kubernetes pod. ${REPLACES} A change restarts the pod.`,
});

/** Where the pods of agents stand. */
export const AgentPlacement = buildClosedSchema(
  {
    ...one,
    topologySpreadConstraints: maybe(
      Type.Array(SpreadConstraint, {
        maxItems: 8,
        description:
          'How the pods are spread over nodes. A constraint without a labelSelector applies to the pods of one workload.',
      }),
    ),
  },
  {
    description: `Where the agents' pods may run, in the fields of a Kubernetes pod. ${REPLACES} A change makes a new revision.`,
  },
);

export type AgentPlacement = Static<typeof AgentPlacement>;
