import { Type, type Static } from 'typebox';
import { AuthSpec } from '../spec/auth-spec.ts';
import { DNS_LABEL } from '../../dns-label.ts';
import { DEPLOYMENT_STATUSES } from './statuses.ts';
import { AgentPlacement, DatabasePlacement } from '../spec/place-spec.ts';
import { ResourceSpec } from '../spec/resource-spec.ts';
import {
  LONGEST_REPO_REF,
  LONGEST_REPO_URL,
  IMAGE_CEL,
  REPO_REF_CEL,
  REPO_URL_CEL,
} from '../source/git-source.ts';
import { RolloutConfig } from '../rollout/rollout-spec.ts';
import { DatabaseBackup } from '../backup/backup-asked.ts';
import { SHARE_BY } from '../rollout/pins.ts';
import { FormerVolume } from '../backup/replacement.ts';
import { DatabaseAsked } from '../backup/restore-asked.ts';
import { MAX_VARIABLE_BYTES } from '../spec/variable-size.ts';
import {
  type CelRule,
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../types.ts';

/* REST's view of a deployment, with fields in snake_case. */

export const SOURCES = ['git', 'external_container'] as const;
export const DEPLOYMENT_TYPES = ['dev_free', 'dev', 'prod'] as const;
const buildTextSchema = (
  maxLength: number,
  description: string,
  more: { pattern?: string; 'x-kubernetes-validations'?: CelRule[] } = {},
) =>
  Type.Optional(
    buildNullableSchema(Type.String({ minLength: 1, maxLength, description, ...more })),
  );

export const DeploymentName = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: DNS_LABEL,
  description:
    'A DNS label. Fixed at creation; names the tracing project that is created with the deployment.',
});

export const Secret = buildClosedSchema({
  name: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    description: 'Name of the environment variable.',
  }),
  value: Type.String({
    maxLength: MAX_VARIABLE_BYTES,
    description: 'Name and value may have 131,070 bytes together at most.',
  }),
});

export const ListenerConfig = buildClosedSchema({
  k8s_namespace: Type.Optional(
    buildNullableSchema(
      Type.String({
        minLength: 1,
        maxLength: 63,
        pattern: DNS_LABEL,
        description: 'Namespace the deployment is placed in. Fixed at creation.',
      }),
    ),
  ),
});

export const SourceConfig = buildClosedSchema({
  integration_id: Type.Optional(
    buildNullableSchema(
      buildUuidSchema('From GET /v1/integrations/git/install. Fixed at creation. Source git.'),
    ),
  ),
  repo_url: buildTextSchema(
    LONGEST_REPO_URL,
    'An https or ssh address of the integration, without a password. Fixed at creation. Source git.',
    {
      'x-kubernetes-validations': REPO_URL_CEL,
    },
  ),
  deployment_type: Type.Optional(
    buildNullableSchema(
      buildEnumSchema(DEPLOYMENT_TYPES, { description: 'Fixed at creation. Source git.' }),
    ),
  ),
  build_on_push: Type.Optional(
    buildNullableSchema(
      Type.Boolean({
        description:
          'Build a revision on each push to repo_ref, which must be a branch. Source git.',
      }),
    ),
  ),
  custom_url: buildTextSchema(
    2048,
    "The deployment's own URL, http or https. If the installation has routes, it requests a route with this host and path. Source external_container.",
    {
      pattern: '^https?://[^\\s]+$',
    },
  ),
  resource_spec: Type.Optional(buildNullableSchema(ResourceSpec)),
  listener_id: Type.Optional(
    buildNullableSchema(
      buildUuidSchema('From GET /v2/listeners. Fixed at creation. Source external_container.'),
    ),
  ),
  listener_config: Type.Optional(buildNullableSchema(ListenerConfig)),
  database_backup: Type.Optional(buildNullableSchema(DatabaseBackup)),
  database_placement: Type.Optional(buildNullableSchema(DatabasePlacement)),
  storage_class: buildTextSchema(
    253,
    "Storage class of the managed database's volume. Fixed at creation. Default: that of the installation.",
  ),
  rollout: Type.Optional(buildNullableSchema(RolloutConfig)),
  install_command: buildTextSchema(
    4096,
    'Runs in the repository root. For JavaScript deployments built from git.',
  ),
  build_command: buildTextSchema(
    4096,
    'Runs in the directory of gx.json. For JavaScript deployments built from git.',
  ),
});

const revisionFields = {
  repo_ref: buildTextSchema(
    LONGEST_REPO_REF,
    'A branch by its bare name, a tag as refs/tags/<tag>. Source git.',
    {
      'x-kubernetes-validations': REPO_REF_CEL,
    },
  ),
  gx_config_path: buildTextSchema(1024, 'Path to gx.json in the repository. Source git.'),
  image_uri: buildTextSchema(1024, 'Container image. Source external_container.', {
    'x-kubernetes-validations': IMAGE_CEL,
  }),
  auth: Type.Optional(buildNullableSchema(AuthSpec)),
  placement: Type.Optional(buildNullableSchema(AgentPlacement)),
};

export const SourceRevisionConfigRequest = buildClosedSchema(revisionFields);

export const SourceRevisionConfig = buildClosedSchema({
  ...revisionFields,
  repo_commit_sha: Type.Optional(
    buildNullableSchema(Type.String({ maxLength: 64, description: 'Read-only.' })),
  ),
});

export const DeploymentCreateRequest = buildClosedSchema({
  name: DeploymentName,
  source: buildEnumSchema(SOURCES),
  source_config: SourceConfig,
  source_revision_config: SourceRevisionConfigRequest,
  secrets: Type.Array(Secret, { maxItems: 512 }),
  database: Type.Optional(buildNullableSchema(DatabaseAsked)),
});

/** The move that a patch asks of the revision that is tried out. */
export const RolloutMoveRequest = buildClosedSchema(
  {
    share: Type.Optional(
      buildNullableSchema(
        Type.Integer({
          minimum: 1,
          maximum: 100,
          description: 'Its share of the new threads from now on. It can only rise.',
        }),
      ),
    ),
    promote: Type.Optional(
      buildNullableSchema(
        Type.Boolean({ description: 'True: it serves now; the remaining steps are skipped.' }),
      ),
    ),
    abort: Type.Optional(
      buildNullableSchema(
        Type.Boolean({
          description: 'True: abort it; it gets no new threads and ends as DEPLOY_FAILED.',
        }),
      ),
    ),
  },
  { description: 'Moves the candidate of the rollout: set exactly one field.' },
);
export type RolloutMoveRequest = Static<typeof RolloutMoveRequest>;

export const DeploymentPatchRequest = buildClosedSchema({
  name: Type.Optional(buildNullableSchema(DeploymentName)),
  source: Type.Optional(buildNullableSchema(buildEnumSchema(SOURCES))),
  source_config: Type.Optional(buildNullableSchema(SourceConfig)),
  source_revision_config: Type.Optional(buildNullableSchema(SourceRevisionConfigRequest)),
  secrets: Type.Optional(buildNullableSchema(Type.Array(Secret, { maxItems: 512 }))),
  rollout: Type.Optional(buildNullableSchema(RolloutMoveRequest)),
});

const RouteShown = buildClosedSchema(
  {
    hosts: Type.Array(Type.String(), { description: 'Hosts of the route.' }),
    path: buildNullableSchema(Type.String({ description: 'The path of the route.' })),
    status: buildEnumSchema(['True', 'False', 'Unknown'], {
      description: 'Whether the route leads to the deployment.',
    }),
    reason: Type.String(),
    message: Type.String(),
  },
  {
    description:
      'The route from outside the cluster; null: none. Read-only: spec.route of the resource sets it.',
  },
);

/** The revisions that have work of their own although another one serves, as REST shows them. */
const RolloutShown = buildClosedSchema(
  {
    candidate: buildNullableSchema(
      buildClosedSchema(
        {
          revision_id: buildNullableSchema(buildUuidSchema('The revision; null: it was deleted.')),
          step: Type.Integer({
            description: 'The number of its current step; the first step is 1.',
          }),
          share: Type.Integer({ description: 'Percentage of new threads that go to it.' }),
          by: buildEnumSchema(SHARE_BY, { description: 'Which hash decides.' }),
          since: buildDateTimeSchema('When it got this share.'),
          gate: buildNullableSchema(
            buildEnumSchema(['Running', 'Passed'], {
              description: 'The run that must succeed before its first share; null: it has none.',
            }),
          ),
          verdict: buildNullableSchema(
            Type.String({
              description: 'The result of its checks in words; null: it has no checks.',
            }),
          ),
        },
        {
          description:
            'The candidate: the new revision that gets a share of the new threads; null: none.',
        },
      ),
    ),
    aborted: buildNullableSchema(
      buildClosedSchema(
        {
          revision_id: buildNullableSchema(buildUuidSchema('The revision; null: it was deleted.')),
          since: buildDateTimeSchema('When it was aborted.'),
          message: Type.String({ description: 'A sentence about the reason.' }),
        },
        { description: 'The last revision whose rollout was aborted; null: none.' },
      ),
    ),
    draining: Type.Array(
      buildClosedSchema({
        revision_id: buildNullableSchema(
          buildUuidSchema('The replaced revision; null: it was deleted.'),
        ),
        since: buildDateTimeSchema('When it was replaced.'),
        runs: buildNullableSchema(
          Type.Integer({ description: 'Its runs that have not ended, as last reported.' }),
        ),
        threads: buildNullableSchema(
          Type.Integer({
            description: 'Threads on it that wait for an answer, or that are pinned to it.',
          }),
        ),
      }),
      { description: 'Replaced revisions that still have work, the oldest first.' },
    ),
  },
  {
    description:
      'Which revisions have work. Null: nothing serves, or no gateway is installed. Read-only.',
  },
);

const RestoreShown = buildClosedSchema(
  {
    status: buildEnumSchema(['True', 'False', 'Unknown'], {
      description: 'Whether the backup was restored.',
    }),
    reason: Type.String(),
    message: Type.String(),
    backup: buildNullableSchema(Type.String({ description: 'The backup, once it is restored.' })),
    from: buildNullableSchema(buildDateTimeSchema('The point in time of its data.')),
    former_volumes: Type.Array(FormerVolume, {
      description: 'Volumes whose data was replaced. A restore may go back to one.',
    }),
  },
  { description: 'The backup that was last restored into its database; null: none. Read-only.' },
);

/** The changes that a dry run would make. */
export const Plan = buildClosedSchema({
  revision: buildNullableSchema(
    buildClosedSchema(
      {
        number: Type.Integer(),
        source: buildEnumSchema(SOURCES),
        source_revision_config: SourceRevisionConfig,
      },
      { description: 'The revision it would make; null: none.' },
    ),
  ),
  objects: Type.Array(Type.Object({ kind: Type.String() }), {
    description:
      'Resources that would be written, as they would be stored. A Secret shows only the names of its entries.',
  }),
});

export const Deployment = buildClosedSchema({
  id: buildUuidSchema('Read-only.'),
  name: DeploymentName,
  source: buildEnumSchema(SOURCES),
  source_config: SourceConfig,
  source_revision_config: SourceRevisionConfig,
  secrets: Type.Array(Secret),
  created_at: buildDateTimeSchema('Read-only.'),
  updated_at: buildDateTimeSchema('Read-only.'),
  status: buildEnumSchema(DEPLOYMENT_STATUSES, { description: 'Read-only.' }),
  latest_revision_id: buildNullableSchema(buildUuidSchema('Read-only.')),
  active_revision_id: buildNullableSchema(buildUuidSchema('The serving revision. Read-only.')),
  image_version: buildNullableSchema(
    Type.String({ description: 'Version of the agent server that the pods report.' }),
  ),
  tenant_id: buildUuidSchema('Read-only.'),
  url: buildNullableSchema(Type.String({ description: 'URL of the agent server. Read-only.' })),
  route: buildNullableSchema(RouteShown),
  rollout: buildNullableSchema(RolloutShown),
  restore: buildNullableSchema(RestoreShown),
});

/** The answer to a write: a deployment, and the plan if it was a dry run. */
export const WrittenDeployment = buildClosedSchema({
  ...Deployment.properties,
  plan: Type.Optional(Plan),
});

export type Secret = Static<typeof Secret>;
export type SourceConfig = Static<typeof SourceConfig>;
export type DeploymentCreateRequest = Static<typeof DeploymentCreateRequest>;
export type DeploymentPatchRequest = Static<typeof DeploymentPatchRequest>;
export type Plan = Static<typeof Plan>;
export type Deployment = Static<typeof Deployment>;
export type WrittenDeployment = Static<typeof WrittenDeployment>;
