import { Type, type Static } from 'typebox';
import { Budget } from '../../agent/budget.ts';
import { UsageToday } from './deployment-usage.ts';
import { Condition } from '../objects/conditions.ts';
import { DEPLOYMENT_STATUSES, REVISION_STATUSES } from './statuses.ts';
import { SOURCES } from './deployment.ts';
import { QueueReplicas, SleepSpec } from '../rollout/scaling-spec.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../types.ts';

/* How deployments are: a row of a list for each, or all of the state of one. No value of a secret is in it. */

/**
 * How a deployment is, in one word. An earlier word goes before a later one: a deployment that sleeps is `asleep`,
 * though its newest revision has failed.
 */
export const DEPLOYMENT_STATES = [
  'deleting',
  'hibernated',
  'asleep',
  'rolling_out',
  'failed',
  'serving',
  'unavailable',
  'waiting',
] as const;
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number];

const RevisionSummary = Type.Object({
  id: buildUuidSchema('Read-only.'),
  number: Type.Integer({ description: 'Its position among the revisions.' }),
  status: buildEnumSchema(REVISION_STATUSES),
  reason: buildNullableSchema(
    Type.String({ description: 'Machine-readable reason of a failure.' }),
  ),
  created_at: buildDateTimeSchema('Read-only.'),
});
export type RevisionSummary = Static<typeof RevisionSummary>;

const summaryFields = {
  id: buildUuidSchema('Read-only.'),
  name: Type.String(),
  namespace: Type.String({ description: 'Namespace that it runs in.' }),
  version: Type.String({
    pattern: '^[0-9]+$',
    description:
      'Increases with each change of the deployment and its revisions. Of two summaries, the one with the higher version is newer.',
  }),
  state: buildEnumSchema(DEPLOYMENT_STATES, { description: 'The state in one word.' }),
  reason: buildNullableSchema(
    Type.String({ description: 'Machine-readable reason of the state.' }),
  ),
  message: buildNullableSchema(Type.String({ description: 'A sentence about the state.' })),
  serving: Type.Boolean({
    description:
      'Whether a revision answers requests now. An older one may do so although the newest has failed.',
  }),
  suspended: Type.Boolean({ description: 'Whether reconciling is paused.' }),
  status: buildEnumSchema(DEPLOYMENT_STATUSES),
  source: buildEnumSchema(SOURCES),
  image_uri: buildNullableSchema(Type.String({ description: 'Image of the newest revision.' })),
  repo_url: buildNullableSchema(Type.String()),
  repo_ref: buildNullableSchema(Type.String()),
  repo_commit_sha: buildNullableSchema(
    Type.String({ description: 'Commit of the newest revision.' }),
  ),
  image_version: buildNullableSchema(
    Type.String({ description: 'Version of the agent server that serves.' }),
  ),
  url: buildNullableSchema(Type.String()),
  latest_revision: buildNullableSchema(RevisionSummary),
  active_revision: buildNullableSchema(RevisionSummary),
  queue: Type.Object({
    wanted: buildNullableSchema(Type.Integer({ description: 'Desired number of queue pods.' })),
    ready: buildNullableSchema(
      Type.Integer({ description: 'Number of queue pods that are ready.' }),
    ),
  }),
  interrupted_threads: buildNullableSchema(
    Type.Integer({
      description:
        'Threads that wait for a person to answer, at most 10,000. Null: they were never counted.',
    }),
  ),
  usage_today: UsageToday,
  asleep_since: buildNullableSchema(buildDateTimeSchema('When it fell asleep.')),
  next_due_at: buildNullableSchema(
    buildDateTimeSchema('When it will wake for a delayed run or a cron.'),
  ),
  created_at: buildDateTimeSchema('Read-only.'),
  updated_at: buildDateTimeSchema('Read-only.'),
};

export const DeploymentSummary = Type.Object(summaryFields);
export type DeploymentSummary = Static<typeof DeploymentSummary>;

/** How a deployment lives: fields of its spec that neither make a revision nor stand in `source_config`. */
const lifecycleFields = {
  hibernate: buildNullableSchema(
    Type.Boolean({
      description: 'Stop all pods, including the database. The volume and the revisions stay.',
    }),
  ),
  suspend: buildNullableSchema(Type.Boolean({ description: 'Pause reconciling.' })),
  sleep: buildNullableSchema(
    buildClosedSchema(
      {
        after_seconds: Type.Optional(buildNullableSchema(SleepSpec.properties.afterSeconds)),
        database: Type.Optional(buildNullableSchema(SleepSpec.properties.database)),
      },
      { description: 'Scale to zero: how it sleeps if min_scale is 0.' },
    ),
  ),
  queue_replicas: buildNullableSchema(QueueReplicas),
  budgets: buildNullableSchema(
    Type.Array(Budget, {
      maxItems: 20,
      description: 'Bounds of the calls of models that runs make.',
    }),
  ),
};
export const Lifecycle = Type.Object(lifecycleFields);
export type Lifecycle = Static<typeof Lifecycle>;

/** A change of it: an absent field stays, null goes back to the default. */
export const LifecyclePatch = buildClosedSchema({
  hibernate: Type.Optional(lifecycleFields.hibernate),
  suspend: Type.Optional(lifecycleFields.suspend),
  sleep: Type.Optional(lifecycleFields.sleep),
  queue_replicas: Type.Optional(lifecycleFields.queue_replicas),
  budgets: Type.Optional(lifecycleFields.budgets),
});
export type LifecyclePatch = Static<typeof LifecyclePatch>;

/** A push event of a connection that was for no deployment. */
export const UnmatchedPushShown = Type.Object(
  { repository: Type.String(), branch: Type.String(), at: buildDateTimeSchema('When it arrived.') },
  {
    description:
      'The last push event of the connection that matched no deployment. At most one a minute is recorded.',
  },
);

export const DeploymentDetails = Type.Object({
  ...summaryFields,
  conditions: Type.Array(Condition),
  candidate: buildNullableSchema(
    Type.Object(
      {
        revision_id: buildNullableSchema(buildUuidSchema('The revision; null: it was deleted.')),
        share: Type.Integer({ description: 'Percentage of new threads that go to it.' }),
        since: buildDateTimeSchema('When it got this share.'),
      },
      { description: 'The new revision that gets a share of the new threads; null: none.' },
    ),
  ),
  lifecycle: Lifecycle,
  database: Type.Object({
    external: Type.Boolean({ description: "Whether it is the user's own database." }),
    certificate_until: buildNullableSchema(
      buildDateTimeSchema(
        'When the certificate of the managed database expires. It is renewed long before.',
      ),
    ),
    storage_gi: buildNullableSchema(
      Type.Integer({
        description:
          'Requested size of its volume in GiB; null: the default of the installation, or a database of your own.',
      }),
    ),
    storage_class: buildNullableSchema(
      Type.String({
        description:
          'Storage class of its volume; null: the default of the installation, or a database of your own.',
      }),
    ),
  }),
  key: Type.Object({
    previous_until: buildNullableSchema(
      buildDateTimeSchema('Until when the previous key is valid.'),
    ),
  }),
  branch: buildNullableSchema(
    Type.Object({
      ref: Type.String({ description: 'Branch whose pushes make revisions.' }),
      commit: buildNullableSchema(
        Type.String({ description: 'Its head commit when it was last checked.' }),
      ),
      push_path: buildNullableSchema(
        Type.String({
          description:
            'Path of the control plane that receives the push events of its git connection; null: it has no connection.',
        }),
      ),
      pushed: buildNullableSchema(
        Type.Object(
          {
            commit: Type.String({ description: 'The commit of the push.' }),
            at: buildDateTimeSchema('When it arrived.'),
          },
          { description: 'The last push event; null: none has arrived.' },
        ),
      ),
      unmatched_push: buildNullableSchema(UnmatchedPushShown),
    }),
  ),
});
export type DeploymentDetails = Static<typeof DeploymentDetails>;

const buildCountsSchema = <K extends string>(words: readonly K[]) =>
  Type.Object(
    Object.fromEntries(words.map((word) => [word, Type.Integer({ minimum: 0 })])) as Record<
      K,
      ReturnType<typeof Type.Integer>
    >,
  );

/** How many deployments a tenant has. */
export const DeploymentCounts = Type.Object({
  total: Type.Integer({ minimum: 0 }),
  by_state: buildCountsSchema(DEPLOYMENT_STATES),
  by_status: buildCountsSchema(DEPLOYMENT_STATUSES),
  by_reason: Type.Unsafe<Record<string, number>>({
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 1 },
    description: 'Failed and unavailable deployments by reason.',
  }),
});
export type DeploymentCounts = Static<typeof DeploymentCounts>;
