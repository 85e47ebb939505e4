import { Type, type Static } from 'typebox';
import { BudgetsSpec } from '../spec/budget-spec.ts';
import { buildAuthRules } from '../spec/auth-spec.ts';
import type { BackupRecord } from '../backup/backup-spec.ts';
import { DNS_LABEL } from '../../dns-label.ts';
import { DatabaseSpec, buildEngineRules } from '../spec/database-spec.ts';
import { SourceConfig, SourceRevisionConfigRequest, SOURCES } from '../deployment/deployment.ts';
import type { GitIntegrationSpec } from '../source/git-integration.ts';
import { NetworkSpec } from '../spec/network-spec.ts';
import { buildOrderRules, ResourceSpec } from '../spec/resource-spec.ts';
import { restoreRule } from '../backup/restore-spec.ts';
import { GRANTED_HOST } from '../spec/route-place.ts';
import { RolloutSpec } from '../rollout/rollout-spec.ts';
import { RouteSpec } from '../spec/route-spec.ts';
import { QueueReplicas, SleepSpec } from '../rollout/scaling-spec.ts';
import {
  buildImmutableRule,
  buildImmutableRules,
  buildSourceRules,
  tagRule,
} from '../source/source-fields.ts';
import {
  buildDateTimeSchema,
  toResourceSchema,
  buildEnumSchema,
  buildUuidSchema,
  addCelRules,
  type ResourceForm,
  buildOptionalFields,
} from '../../types.ts';
import type { ObjectMeta } from '../objects/object-meta.ts';
import type {
  DeploymentResourceStatus,
  RevisionResourceStatus,
  BackupResourceStatus,
  ListenerResourceStatus,
} from './resource-statuses.ts';

export const CATEGORY = 'gx';

const SecretName = Type.String({
  minLength: 1,
  maxLength: 253,
  description: 'Secret in the same namespace; its keys become environment variables.',
});

export const ResourceSpecResource = addCelRules(toResourceSchema(ResourceSpec), buildOrderRules());

export const SourceConfigResource = Type.Unsafe<
  Omit<
    ResourceForm<SourceConfig>,
    | 'resourceSpec'
    | 'listenerId'
    | 'listenerConfig'
    | 'databasePlacement'
    | 'storageClass'
    | 'rollout'
  > & {
    listener?: string;
  }
>({
  type: 'object',
  description: 'Settings that change without a new revision, or never.',
  properties: {
    ...toResourceSchema(SourceConfig, [
      'resource_spec',
      'listener_id',
      'listener_config',
      'database_backup',
      'database_placement',
      'storage_class',
      'rollout',
    ]).properties,
    listener: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Name of the Listener that serves this namespace.',
    }),
  },
});

export const RevisionTemplate = Type.Object(
  {
    sourceRevisionConfig: Type.Optional(toResourceSchema(SourceRevisionConfigRequest)),
    secretName: Type.Optional(SecretName),
    resourceSpec: Type.Optional(ResourceSpecResource),
  },
  { description: 'Everything that makes a revision: a change here makes a new one.' },
);
export type RevisionTemplate = Static<typeof RevisionTemplate>;

const RequestedAt = buildDateTimeSchema(
  'Request the same template again: a new value makes a new revision.',
);
const RollbackOf = Type.String({
  maxLength: 253,
  description: 'Revision whose template this one repeats.',
});

export const DeploymentSpec = addCelRules(
  Type.Object({
    id: Type.Optional(
      buildUuidSchema(
        'Id in REST answers; set it if the id must survive a restore of the cluster. Default: metadata.uid. Never changes.',
      ),
    ),
    source: buildEnumSchema(SOURCES, {
      description:
        'Origin of the image: built from a git repository, or an existing container image. Fixed at creation.',
    }),
    sourceConfig: Type.Optional(SourceConfigResource),
    template: RevisionTemplate,
    ...buildOptionalFields({
      requestedAt: RequestedAt,
      rollbackOf: RollbackOf,
      suspend: Type.Boolean({
        description:
          'Pause reconciling: nothing is created, repaired or switched until it is false again.',
      }),
      hibernate: Type.Boolean({
        description:
          'Stop all pods, including the database. The volume and the revisions stay. False wakes it, without a new revision.',
      }),
      database: DatabaseSpec,
      network: NetworkSpec,
      rollout: RolloutSpec,
      route: RouteSpec,
      queueReplicas: QueueReplicas,
      sleep: SleepSpec,
      budgets: BudgetsSpec,
      deletionPolicy: buildEnumSchema(['Retain', 'Delete'], {
        description:
          'Whether deletion keeps the database volume and its credential. Default Retain.',
      }),
      deleteTracingProject: Type.Boolean({
        description: 'Deletion removes the tracing project too.',
      }),
      progressDeadlineSeconds: Type.Integer({
        minimum: 10,
        maximum: 86_400,
        description:
          'Seconds after which a revision that is not ready has failed. Time without a running operator does not count. Default 600.',
      }),
      revisionHistoryLimit: Type.Integer({
        minimum: 1,
        maximum: 1000,
        description: 'Revisions kept beside the serving and the newest one. Default 20.',
      }),
    }),
  }),
  [
    ...buildSourceRules(),
    ...buildImmutableRules(),
    buildImmutableRule('id'),
    ...buildEngineRules(),
    buildImmutableRule('database.storageClass'),
    restoreRule(),
    ...buildAuthRules(),
    tagRule,
    { rule: 'self.source == oldSelf.source', message: "source: can't be changed" },
  ],
);
export type DeploymentSpec = Static<typeof DeploymentSpec>;

export const RevisionSpec = addCelRules(
  Type.Object({
    deployment: Type.String({
      maxLength: 63,
      pattern: DNS_LABEL,
      description: 'The Deployment this revision belongs to.',
    }),
    deploymentUid: buildUuidSchema('Its metadata.uid.'),
    number: Type.Integer({
      minimum: 1,
      description: 'The generation of the Deployment that requested it.',
    }),
    hash: Type.String({ maxLength: 64, description: 'Hash of the template and requestedAt.' }),
    source: buildEnumSchema(SOURCES),
    sourceConfig: Type.Optional(SourceConfigResource),
    template: RevisionTemplate,
    ...buildOptionalFields({
      requestedAt: RequestedAt,
      rollbackOf: RollbackOf,
      push: Type.Integer({
        minimum: 1,
        description:
          'Which new head of the followed branch made it, counted within the generation. Unset: the spec did.',
      }),
      commit: Type.String({
        pattern: '^[0-9a-f]{40,64}$',
        maxLength: 64,
        description: 'Commit that is built. Unset: the head when its build begins.',
      }),
    }),
  }),
  [{ rule: 'self == oldSelf', message: "spec: a revision can't be changed" }],
);
export type RevisionSpec = Static<typeof RevisionSpec>;

export const ListenerSpec = Type.Object({
  tenantId: Type.Optional(buildUuidSchema('Tenant it belongs to; unset: the default tenant.')),
  computeId: Type.String({
    minLength: 1,
    maxLength: 253,
    description: 'Name of the cluster as its admins know it.',
  }),
  namespaces: Type.Array(Type.String({ maxLength: 63, pattern: DNS_LABEL }), {
    minItems: 1,
    maxItems: 256,
    'x-kubernetes-list-type': 'set',
    description: 'Namespaces deployments may be placed in; the first is the default.',
  }),
  hosts: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 253, pattern: GRANTED_HOST }), {
      maxItems: 256,
      'x-kubernetes-list-type': 'set',
      description:
        'Hosts that routes of its deployments may have; `*.` stands for one label. Unset: only hosts that follow the pattern of the installation.',
    }),
  ),
});
export type ListenerSpec = Static<typeof ListenerSpec>;

export const TracingProjectSpec = addCelRules(
  Type.Object({
    tenantId: Type.Optional(buildUuidSchema('Tenant it belongs to; unset: the default tenant.')),
    projectName: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Name under which traces are kept.',
    }),
  }),
  [{ rule: 'self == oldSelf', message: "spec: a tracing project can't be changed" }],
);
export type TracingProjectSpec = Static<typeof TracingProjectSpec>;

type Resource<Spec, Status> = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
};

export type DeploymentResource = Resource<DeploymentSpec, Static<typeof DeploymentResourceStatus>>;
export type RevisionResource = Resource<RevisionSpec, Static<typeof RevisionResourceStatus>>;
export type BackupResource = Resource<BackupRecord, Static<typeof BackupResourceStatus>>;
export type ListenerResource = Resource<ListenerSpec, Static<typeof ListenerResourceStatus>>;
export type TracingProjectResource = Resource<TracingProjectSpec, undefined>;
export type GitIntegrationResource = Resource<GitIntegrationSpec, undefined>;
