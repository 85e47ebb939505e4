import { Type, type TSchema } from 'typebox';
import { backupStatus } from '../backup/backup-spec.ts';
import { Conditions } from '../objects/conditions.ts';
import { DEPLOYMENT_STATUSES, REVISION_STATUSES } from '../deployment/statuses.ts';
import { replacementStatus } from '../backup/replacement.ts';
import { restoredStatus } from '../backup/restore-spec.ts';
import { GUARDS } from '../deployment/guards.ts';
import { PinOfPods } from '../rollout/rollout-spec.ts';
import { RouteStatus } from '../spec/route-spec.ts';
import { usageStatus } from '../deployment/usage-status.ts';
import { scalingStatus } from '../rollout/scaling-spec.ts';
import { buildDateTimeSchema, buildEnumSchema, buildOptionalText } from '../../types.ts';

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

const buildPodFormSchema = (whose: string) =>
  buildOptionalText(
    128,
    `Pod template of ${whose} pods as the operator last wrote it. A difference means that someone else changed it.`,
  );

export const DeploymentResourceStatus = buildStatusSchema({
  phase: Type.Optional(buildEnumSchema(DEPLOYMENT_STATUSES)),
  url: buildOptionalText(2048, 'Where the agent server answers.'),
  route: Type.Optional(RouteStatus),
  latestRevision: buildOptionalText(253, 'Newest revision.'),
  activeRevision: buildOptionalText(253, 'Revision that serves.'),
  serverVersion: buildOptionalText(128, 'Version of the agent server that the pods report.'),
  databaseSecret: buildOptionalText(
    253,
    'Secret with the database address with which pods are started.',
  ),
  databaseSecretVersion: buildOptionalText(
    128,
    'Its resourceVersion when it was last read. Only for external databases.',
  ),
  databaseAdminSecret: buildOptionalText(
    253,
    'Secret of the role that sets passwords. Only for managed databases.',
  ),
  databaseTemplate: buildPodFormSchema("the database's"),
  claimWords: buildOptionalText(
    64,
    'Hash of the labels and annotations of the spec that its volume claim has. Unset: none.',
  ),
  databaseCertificateUntil: Type.Optional(
    buildDateTimeSchema(
      'When the certificate of its managed database expires. It is renewed long before.',
    ),
  ),
  storeTemplate: buildPodFormSchema("the key-value store's"),
  storeSecret: buildOptionalText(253, 'Secret with the password of the key-value store.'),
  keySecret: buildOptionalText(253, "Secret with the API key of the deployment's agents."),
  keyRequest: buildOptionalText(
    128,
    'Last value of the rotate-key annotation that was carried out.',
  ),
  keyPreviousUntil: Type.Optional(
    buildDateTimeSchema(
      'Time until which the previous key is valid. Unset: there is no previous key.',
    ),
  ),
  passwordRequestedAt: buildOptionalText(
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
  followedRef: buildOptionalText(512, 'Branch whose pushes make revisions.'),
  followedCommit: buildOptionalText(64, 'Head commit of that branch when it was last checked.'),
  pushHandled: buildOptionalText(128, 'Last value of the pushed-at annotation that was handled.'),
  reason: buildOptionalText(128, 'Machine-readable reason of a failure.'),
  message: buildOptionalText(4096, 'A sentence about the state.'),
  lastHandledReconcileAt: buildOptionalText(
    128,
    'Last value of the reconcile-now annotation that was handled.',
  ),
  ...scalingStatus,
  ...usageStatus,
});

export const RevisionResourceStatus = buildStatusSchema(
  {
    phase: Type.Optional(buildEnumSchema(REVISION_STATUSES)),
    reason: buildOptionalText(128, 'Machine-readable reason of a failure.'),
    message: buildOptionalText(4096, 'A sentence about the phase.'),
    logTail: buildOptionalText(16_384, 'Last log lines of a pod that failed.'),
    specHash: buildOptionalText(64, 'Hash of the spec, written once.'),
    secretName: buildOptionalText(
      253,
      'Immutable Secret the pods get, chosen once: the one of the spec or a copy of it.',
    ),
    imageDigest: buildOptionalText(
      256,
      'Digest that the image had when it was started, written once.',
    ),
    image: buildOptionalText(
      1024,
      'Image of its pods if the spec does not name exactly one: built from the repository, or repeated by a rollback. Written once.',
    ),
    imageArchitecture: buildOptionalText(
      16,
      'Processor architecture of the image, as in the node label kubernetes.io/arch. Pods go to such nodes.',
    ),
    commitSha: buildOptionalText(64, 'Commit that is or was built, written once.'),
    buildsWith: Type.Optional(
      buildEnumSchema(['buildkit'], {
        description: 'The builder, if it is not the rootless one. Written once.',
      }),
    ),
    builderVersion: buildOptionalText(
      128,
      'Version of the builder that made the image, written once.',
    ),
    buildSeconds: Type.Optional(
      Type.Integer({
        description: 'How long the build took, without its time in the queue. Written once.',
      }),
    ),
    buildLog: buildOptionalText(253, 'ConfigMap with the whole log of the build, packed.'),
    serverVersion: buildOptionalText(128, 'Version of the agent server that the pods report.'),
    mountPrefix: buildOptionalText(
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

export const ListenerResourceStatus = buildStatusSchema({});
