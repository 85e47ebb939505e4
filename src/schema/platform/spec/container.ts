import { Type, type Static } from 'typebox';
import { EnvFromSource, EnvVarSource, SecurityContext, VOLUME_SOURCES } from './pod-parts.ts';
import { DNS_LABEL } from '../../dns-label.ts';
import {
  buildClosedSchema,
  buildMapSchema,
  buildNullableSchema,
  buildEnumSchema,
} from '../../types.ts';

const DNS_SUBDOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';

const buildDnsLabelSchema = (description: string) =>
  Type.String({ minLength: 1, maxLength: 63, pattern: DNS_LABEL, description });

export const LocalObjectReference = buildClosedSchema({
  name: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: DNS_SUBDOMAIN,
    description: 'Name of a Secret in the same namespace.',
  }),
});

export const Volume = buildClosedSchema({
  name: buildDnsLabelSchema('Unique within the pod.'),
  ...VOLUME_SOURCES,
});

export const VolumeMount = buildClosedSchema({
  name: buildDnsLabelSchema('Must match the name of a volume.'),
  mountPath: Type.String({
    minLength: 1,
    maxLength: 1024,
    description: 'Where the volume appears in the container.',
  }),
  subPath: Type.Optional(buildNullableSchema(Type.String({ maxLength: 1024 }))),
  subPathExpr: Type.Optional(buildNullableSchema(Type.String({ maxLength: 1024 }))),
  mountPropagation: Type.Optional(buildNullableSchema(Type.String({ maxLength: 64 }))),
  readOnly: Type.Optional(buildNullableSchema(Type.Boolean())),
});

export const EnvVar = buildClosedSchema({
  name: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    description: 'A C identifier.',
  }),
  value: Type.Optional(buildNullableSchema(Type.String({ maxLength: 32768 }))),
  valueFrom: Type.Optional(buildNullableSchema(EnvVarSource)),
});

const Quantities = Type.Optional(
  buildNullableSchema(buildMapSchema(Type.String({ maxLength: 64 }), { maxProperties: 16 })),
);

export const ResourceRequirements = buildClosedSchema({ limits: Quantities, requests: Quantities });

const buildWordListSchema = (description: string) =>
  Type.Optional(
    buildNullableSchema(
      Type.Array(Type.String({ maxLength: 8192 }), { maxItems: 128, description }),
    ),
  );

export const Container = buildClosedSchema({
  name: buildDnsLabelSchema('Unique within the pod.'),
  image: Type.String({ minLength: 1, maxLength: 1024 }),
  imagePullPolicy: Type.Optional(
    buildNullableSchema(buildEnumSchema(['Always', 'Never', 'IfNotPresent'])),
  ),
  command: buildWordListSchema('Entry point; not run in a shell.'),
  args: buildWordListSchema('Arguments of the entry point.'),
  workingDir: Type.Optional(buildNullableSchema(Type.String({ maxLength: 1024 }))),
  env: Type.Optional(buildNullableSchema(Type.Array(EnvVar, { maxItems: 256 }))),
  envFrom: Type.Optional(buildNullableSchema(Type.Array(EnvFromSource, { maxItems: 32 }))),
  resources: Type.Optional(buildNullableSchema(ResourceRequirements)),
  volumeMounts: Type.Optional(buildNullableSchema(Type.Array(VolumeMount, { maxItems: 64 }))),
  securityContext: Type.Optional(buildNullableSchema(SecurityContext)),
  restartPolicy: Type.Optional(
    buildNullableSchema(
      buildEnumSchema(['Always', 'OnFailure'], {
        description:
          'Always: it starts in order and keeps running beside the agent. OnFailure: it is restarted until it succeeds, like every init container; not for sidecars.',
      }),
    ),
  ),
});

export type Container = Static<typeof Container>;

/**
 * Kubernetes takes a pod out of service once one of its containers has ended, however that ended. So a sidecar that may
 * end would end the revision.
 */
export const ENDING_SIDECAR =
  'restartPolicy OnFailure is not possible: a pod whose sidecar has ended is not ready. Put a container that ends into {init}, and leave restartPolicy out of one that runs on';
export type Volume = Static<typeof Volume>;
export type VolumeMount = Static<typeof VolumeMount>;
