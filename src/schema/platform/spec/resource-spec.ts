import { Type, type Static } from 'typebox';
import {
  Container,
  ENDING_SIDECAR,
  LocalObjectReference,
  Volume,
  VolumeMount,
} from './container.ts';
import {
  buildClosedSchema,
  toCamelKey,
  buildMapSchema,
  type CelRule,
  buildOptionalNullable,
} from '../../types.ts';

const buildCoresSchema = (description: string) =>
  buildOptionalNullable(
    Type.Number({
      minimum: 0.01,
      maximum: 512,
      description: `${description} Number of cores; 0.5 is half a core.`,
    }),
  );
const buildMegabytesSchema = (description: string) =>
  buildOptionalNullable(
    Type.Integer({ minimum: 16, maximum: 4_194_304, description: `${description} In MB (Mi).` }),
  );
const buildReplicasSchema = (description: string) =>
  buildOptionalNullable(Type.Integer({ minimum: 0, maximum: 1000, description }));
const notUsed = buildOptionalNullable(Type.Number({ description: 'Stored, but has no effect.' }));
/**
 * Keys and values within Kubernetes' limits: 63 characters for a label's value; the object's size limits annotations.
 */
const buildTextMapSchema = (maxLength: number, description: string) =>
  buildOptionalNullable(
    buildMapSchema(Type.String({ maxLength }), { maxProperties: 64, description }),
  );

/** The ResourceSpec of the REST API. CPU is a number of cores, because clients send fractions. */
export const ResourceSpec = buildClosedSchema({
  min_scale: buildReplicasSchema('Minimum number of api replicas.'),
  max_scale: buildReplicasSchema('Maximum number of api replicas.'),
  cpu: buildCoresSchema('CPU request of one replica.'),
  cpu_limit: buildCoresSchema('Defaults to 2x cpu.'),
  memory_mb: buildMegabytesSchema('Memory request of one replica.'),
  memory_limit_mb: buildMegabytesSchema('Defaults to 2x memory_mb.'),
  queue_min_scale: buildReplicasSchema('Minimum number of queue replicas. Defaults to min_scale.'),
  queue_max_scale: buildReplicasSchema('Maximum number of queue replicas. Defaults to max_scale.'),
  queue_cpu: buildCoresSchema('Defaults to cpu.'),
  queue_cpu_limit: buildCoresSchema('Defaults to 2x queue_cpu.'),
  queue_memory_mb: buildMegabytesSchema('Defaults to memory_mb.'),
  queue_memory_limit_mb: buildMegabytesSchema('Defaults to 2x queue_memory_mb.'),
  orchestrator_cpu: notUsed,
  orchestrator_cpu_limit: notUsed,
  orchestrator_memory_mb: notUsed,
  orchestrator_memory_limit_mb: notUsed,
  orchestrator_min_scale: notUsed,
  orchestrator_max_scale: notUsed,
  executor_cpu: notUsed,
  executor_cpu_limit: notUsed,
  executor_memory_mb: notUsed,
  executor_memory_limit_mb: notUsed,
  redis_memory_mb: buildMegabytesSchema('Memory of the key-value store.'),
  labels: buildTextMapSchema(63, 'Extra labels for the objects made for the deployment.'),
  annotations: buildTextMapSchema(4096, 'Extra annotations for those objects.'),
  service_account_name: buildOptionalNullable(
    Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Must already exist in the namespace of the deployment.',
    }),
  ),
  automount_service_account_token: buildOptionalNullable(
    Type.Boolean({
      description:
        "Mount a token of that account into the agents' pods. Default false. REST users need a grant.",
    }),
  ),
  image_pull_secrets: buildOptionalNullable(
    Type.Array(LocalObjectReference, {
      maxItems: 16,
      description: 'Registry credentials in the same namespace.',
    }),
  ),
  volumes: buildOptionalNullable(Type.Array(Volume, { maxItems: 32 })),
  volume_mounts: buildOptionalNullable(
    Type.Array(VolumeMount, { maxItems: 64, description: 'Mounts into the main container.' }),
  ),
  init_containers: buildOptionalNullable(
    Type.Array(Container, {
      maxItems: 10,
      description: 'Run to completion before the main container starts.',
    }),
  ),
  sidecars: buildOptionalNullable(
    Type.Array(Container, {
      maxItems: 10,
      description: 'Run alongside the main container.',
      'x-kubernetes-validations': [
        {
          rule: "self.all(sidecar, !has(sidecar.restartPolicy) || sidecar.restartPolicy != 'OnFailure')",
          message: ENDING_SIDECAR.replace('{init}', 'initContainers'),
        },
      ],
    }),
  ),
  db_cpu: buildCoresSchema('CPU request of the database.'),
  db_cpu_limit: buildCoresSchema('Defaults to 2x db_cpu.'),
  db_memory_mb: buildMegabytesSchema('Memory request of the database.'),
  db_memory_limit_mb: buildMegabytesSchema('Defaults to 2x db_memory_mb.'),
  db_storage_gi: buildOptionalNullable(
    Type.Integer({ minimum: 1, maximum: 65_536, description: 'Database storage in GiB.' }),
  ),
  db_max_connections: buildOptionalNullable(
    Type.Integer({
      minimum: 20,
      maximum: 10_000,
      description: 'Maximum number of database connections.',
    }),
  ),
});

export type ResourceSpec = Static<typeof ResourceSpec>;

/** Sizes of parts that no deployment here has. They are kept, and the condition FieldsWithoutEffect names them. */
export const UNUSED_RESOURCE_FIELDS = Object.keys(ResourceSpec.properties).filter((name) =>
  /^(orchestrator|executor)_/.test(name),
);

/**
 * Pairs of fields of which the first must not exceed the second. If a third is named, the rule holds only while that is
 * unset, because the first is its default.
 */
export const ORDERED_RESOURCE_FIELDS: readonly (readonly [string, string, string?])[] = [
  ['min_scale', 'max_scale'],
  ['cpu', 'cpu_limit'],
  ['memory_mb', 'memory_limit_mb'],
  ['queue_min_scale', 'queue_max_scale'],
  ['queue_cpu', 'queue_cpu_limit'],
  ['queue_memory_mb', 'queue_memory_limit_mb'],
  ['cpu', 'queue_cpu_limit', 'queue_cpu'],
  ['memory_mb', 'queue_memory_limit_mb', 'queue_memory_mb'],
  ['db_cpu', 'db_cpu_limit'],
  ['db_memory_mb', 'db_memory_limit_mb'],
];

/** Returns the same order as rules of the custom resource. */
export const buildOrderRules = (): CelRule[] =>
  ORDERED_RESOURCE_FIELDS.map(([low, high, unless]) => {
    const [a, b] = [toCamelKey(low), toCamelKey(high)];
    const given = unless === undefined ? '' : `has(self.${toCamelKey(unless)}) || `;
    return {
      rule: `${given}!has(self.${a}) || !has(self.${b}) || self.${a} <= self.${b}`,
      message: `resourceSpec.${a}: must not exceed ${b}`,
    };
  });
