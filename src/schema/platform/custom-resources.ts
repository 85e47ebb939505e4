import { API_VERSION } from './api-group.ts';
import { Type, type Static, type TSchema } from 'typebox';
import { buildAuthRules } from './auth-spec.ts';
import { backupStatus, type BackupRecord } from './backup-spec.ts';
import { Conditions } from './conditions.ts';
import { DNS_LABEL } from '../dns-label.ts';
import { DatabaseSpec, buildEngineRules } from './database-spec.ts';
import {
  DEPLOYMENT_STATUSES,
  SourceConfig,
  SourceRevisionConfigRequest,
  SOURCES,
} from './deployment.ts';
import type { GitIntegrationSpec } from './git-integration.ts';
import { NetworkSpec } from './network-spec.ts';
import { buildOrderRules, ResourceSpec } from './resource-spec.ts';
import { replacementStatus } from './replacement.ts';
import { restoredStatus, restoreRule } from './restore-spec.ts';
import { REVISION_STATUSES } from './revision.ts';
import { GUARDS } from './guards.ts';
import { GRANTED_HOST } from './route-place.ts';
import { PinOfPods, RolloutSpec } from './rollout-spec.ts';
import { RouteSpec, RouteStatus } from './route-spec.ts';
import { QueueReplicas, scalingStatus, SleepSpec } from './scaling-spec.ts';
import {
  buildImmutableRule,
  buildImmutableRules,
  buildSourceRules,
  tagRule,
} from './source-fields.ts';
import {
  buildDateTimeSchema,
  toResourceSchema,
  buildEnumSchema,
  buildUuidSchema,
  addCelRules,
  type ResourceForm,
  buildOptionalFields,
} from '../types.ts';

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
  'Ask for the same template again: a new value makes a new revision.',
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
    source: buildEnumSchema(SOURCES, { description: 'Fixed.' }),
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

const buildStatusSchema = <P extends Record<string, TSchema>>(properties: P, born: object = {}) =>
  Type.Object(
    {
      observedGeneration: Type.Optional(Type.Integer()),
      conditions: Type.Optional(Conditions),
      ...properties,
    },
    // It is below every generation, so that no object counts as finished before the operator has seen it (kstatus).
    { default: { observedGeneration: -1, ...born } },
  );

const buildTextSchema = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));

const buildPodFormSchema = (whose: string) =>
  buildTextSchema(
    128,
    `Pod template of ${whose} pods as the operator last wrote it. A difference means that someone else changed it.`,
  );

export const DeploymentResourceStatus = buildStatusSchema({
  phase: Type.Optional(buildEnumSchema(DEPLOYMENT_STATUSES)),
  url: buildTextSchema(2048, 'Where the agent server answers.'),
  route: Type.Optional(RouteStatus),
  latestRevision: buildTextSchema(253, 'Newest revision.'),
  activeRevision: buildTextSchema(253, 'Revision that serves.'),
  serverVersion: buildTextSchema(128, 'Version of the agent server that the pods report.'),
  databaseSecret: buildTextSchema(
    253,
    'Secret with the database address with which pods are started.',
  ),
  databaseSecretVersion: buildTextSchema(
    128,
    'Its resourceVersion when it was last read. Only for external databases.',
  ),
  databaseAdminSecret: buildTextSchema(
    253,
    'Secret of the role that sets passwords. Only for managed databases.',
  ),
  databaseTemplate: buildPodFormSchema("the database's"),
  claimWords: buildTextSchema(
    64,
    'Hash of the labels and annotations of the spec that its volume claim has. Unset: none.',
  ),
  databaseCertificateUntil: Type.Optional(
    buildDateTimeSchema(
      'When the certificate of its managed database expires. It is renewed long before.',
    ),
  ),
  storeTemplate: buildPodFormSchema("the key-value store's"),
  storeSecret: buildTextSchema(253, 'Secret with the password of the key-value store.'),
  keySecret: buildTextSchema(253, "Secret with the API key of the deployment's agents."),
  keyRequest: buildTextSchema(128, 'Last value of the rotate-key annotation that was carried out.'),
  keyPreviousUntil: Type.Optional(
    buildDateTimeSchema(
      'Time until which the previous key is valid. Unset: there is no previous key.',
    ),
  ),
  passwordRequestedAt: buildTextSchema(
    64,
    'Last value of spec.database.passwordRequestedAt that was carried out.',
  ),
  archivedSince: Type.Optional(
    buildDateTimeSchema(
      "Since when its database can archive its write-ahead log. Unset: it can't.",
    ),
  ),
  ...restoredStatus,
  ...replacementStatus,
  followedRef: buildTextSchema(512, 'Branch whose pushes make revisions.'),
  followedCommit: buildTextSchema(64, 'Head commit of that branch when it was last checked.'),
  pushHandled: buildTextSchema(128, 'Last value of the pushed-at annotation that was handled.'),
  reason: buildTextSchema(128, 'Machine-readable reason of a failure.'),
  message: buildTextSchema(4096, 'One sentence on the state.'),
  lastHandledReconcileAt: buildTextSchema(
    128,
    'Last value of the reconcile-now annotation that was handled.',
  ),
  ...scalingStatus,
});

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

export const RevisionResourceStatus = buildStatusSchema(
  {
    phase: Type.Optional(buildEnumSchema(REVISION_STATUSES)),
    reason: buildTextSchema(128, 'Machine-readable reason of a failure.'),
    message: buildTextSchema(4096, 'One sentence on the phase.'),
    logTail: buildTextSchema(16_384, 'Last log lines of a pod that failed.'),
    specHash: buildTextSchema(64, 'Hash of the spec, written once.'),
    secretName: buildTextSchema(
      253,
      'Immutable Secret the pods get, chosen once: the one of the spec or a copy of it.',
    ),
    imageDigest: buildTextSchema(
      256,
      'Digest that the image had when it was started, written once.',
    ),
    image: buildTextSchema(
      1024,
      'Image of its pods if the spec does not name exactly one: built from the repository, or repeated by a rollback. Written once.',
    ),
    imageArchitecture: buildTextSchema(
      16,
      'Processors that run the image, as kubernetes.io/arch of nodes names them. Pods go to these nodes.',
    ),
    commitSha: buildTextSchema(64, 'Commit that is or was built, written once.'),
    buildsWith: Type.Optional(
      buildEnumSchema(['buildkit'], {
        description: 'The builder, if it is not the one without root. Written once.',
      }),
    ),
    builderVersion: buildTextSchema(
      128,
      'Version of the builder that made the image, written once.',
    ),
    buildSeconds: Type.Optional(
      Type.Integer({
        description: 'How long the build took, without its time in the queue. Written once.',
      }),
    ),
    buildLog: buildTextSchema(253, 'ConfigMap with the whole log of the build, packed.'),
    serverVersion: buildTextSchema(128, 'Version of the agent server that the pods report.'),
    mountPrefix: buildTextSchema(
      256,
      'The prefix of every path of its server, as its pods report it. Unset: none.',
    ),
    guard: Type.Optional(
      buildEnumSchema(GUARDS, {
        description:
          'How its pods decide who may call: the strictest way that one of them has reported.',
      }),
    ),
    pin: PinOfPods,
    apiTemplate: buildPodFormSchema('the api'),
    queueTemplate: buildPodFormSchema('the queue'),
    startedAt: Type.Optional(buildDateTimeSchema('When the build or the rollout began.')),
    builtAt: Type.Optional(
      buildDateTimeSchema(
        'When the image was built. The deadline of the rollout counts from then.',
      ),
    ),
    endedAt: Type.Optional(buildDateTimeSchema('When the revision reached its last phase.')),
  },
  { phase: 'CREATING' },
);

export const BackupResourceStatus = buildStatusSchema(backupStatus, { phase: 'Running' });

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

export const ListenerResourceStatus = buildStatusSchema({});

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

export type ObjectMeta = {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  /**
   * Who wrote which field, and when. It is half of an object's size, so watches keep nothing of it, or only the times.
   */
  managedFields?: { manager?: string; subresource?: string; time?: string; fieldsV1?: object }[];
};

type OwnerReference = {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
};

/** Returns the reference that an object has to the custom resource with which it is deleted. */
export const buildOwnerReference = (
  kind: 'Deployment' | 'Revision',
  { name, uid = '' }: ObjectMeta,
): OwnerReference => ({
  apiVersion: API_VERSION,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

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
