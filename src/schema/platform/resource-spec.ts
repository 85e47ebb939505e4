import { Type, type Static, type TSchema } from 'typebox';
import { Container, ENDING_SIDECAR, LocalObjectReference, Volume, VolumeMount } from './container.ts';
import { Closed, camelKey, MapOf, Nullable, type CelRule } from '../types.ts';

const optional = <S extends TSchema>(schema: S) => Type.Optional(Nullable(schema));
const cores = (description: string) =>
  optional(Type.Number({ minimum: 0.01, maximum: 512, description: `${description} Number of cores; 0.5 is half a core.` }));
const megabytes = (description: string) =>
  optional(Type.Integer({ minimum: 16, maximum: 4_194_304, description: `${description} In MB (Mi).` }));
const replicas = (description: string) => optional(Type.Integer({ minimum: 0, maximum: 1000, description }));
const notUsed = optional(Type.Number({ description: 'Stored, without effect.' }));
/**
 * Keys and values within Kubernetes' limits: 63 characters for a label's value; the object's size limits annotations.
 */
const words = (maxLength: number, description: string) => optional(MapOf(Type.String({ maxLength }), { maxProperties: 64, description }));

/** The ResourceSpec of the REST API. CPU is a number of cores, because clients send fractions. */
export const ResourceSpec = Closed({
  min_scale: replicas('Least number of api replicas.'),
  max_scale: replicas('Greatest number of api replicas.'),
  cpu: cores('CPU request of one replica.'),
  cpu_limit: cores('Defaults to 2x cpu.'),
  memory_mb: megabytes('Memory request of one replica.'),
  memory_limit_mb: megabytes('Defaults to 2x memory_mb.'),
  queue_min_scale: replicas('Least number of queue replicas. Defaults to min_scale.'),
  queue_max_scale: replicas('Greatest number of queue replicas. Defaults to max_scale.'),
  queue_cpu: cores('Defaults to cpu.'),
  queue_cpu_limit: cores('Defaults to 2x queue_cpu.'),
  queue_memory_mb: megabytes('Defaults to memory_mb.'),
  queue_memory_limit_mb: megabytes('Defaults to 2x queue_memory_mb.'),
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
  redis_memory_mb: megabytes('Memory of the key-value store.'),
  labels: words(63, 'Extra labels for the objects made for the deployment.'),
  annotations: words(4096, 'Extra annotations for those objects.'),
  service_account_name: optional(
    Type.String({ minLength: 1, maxLength: 253, description: 'Must already exist in the namespace of the deployment.' }),
  ),
  automount_service_account_token: optional(
    Type.Boolean({ description: "Mount a token of that account into the agents' pods. Default false. REST users need a grant." }),
  ),
  image_pull_secrets: optional(
    Type.Array(LocalObjectReference, { maxItems: 16, description: 'Registry credentials in the same namespace.' }),
  ),
  volumes: optional(Type.Array(Volume, { maxItems: 32 })),
  volume_mounts: optional(Type.Array(VolumeMount, { maxItems: 64, description: 'Mounts into the main container.' })),
  init_containers: optional(Type.Array(Container, { maxItems: 10, description: 'Run to completion before the main container starts.' })),
  sidecars: optional(
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
  db_cpu: cores('CPU request of the database.'),
  db_cpu_limit: cores('Defaults to 2x db_cpu.'),
  db_memory_mb: megabytes('Memory request of the database.'),
  db_memory_limit_mb: megabytes('Defaults to 2x db_memory_mb.'),
  db_storage_gi: optional(Type.Integer({ minimum: 1, maximum: 65_536, description: 'Database storage in GiB.' })),
  db_max_connections: optional(Type.Integer({ minimum: 20, maximum: 10_000, description: 'Most database connections.' })),
});

export type ResourceSpec = Static<typeof ResourceSpec>;

/** Sizes of parts that no deployment here has. They are kept, and the condition FieldsWithoutEffect names them. */
export const UNUSED_RESOURCE_FIELDS = Object.keys(ResourceSpec.properties).filter((name) => /^(orchestrator|executor)_/.test(name));

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
export const orderedRules = (): CelRule[] =>
  ORDERED_RESOURCE_FIELDS.map(([low, high, unless]) => {
    const [a, b] = [camelKey(low), camelKey(high)];
    const given = unless === undefined ? '' : `has(self.${camelKey(unless)}) || `;
    return {
      rule: `${given}!has(self.${a}) || !has(self.${b}) || self.${a} <= self.${b}`,
      message: `resourceSpec.${a}: must not exceed ${b}`,
    };
  });
