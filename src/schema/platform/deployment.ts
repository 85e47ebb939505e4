import { Type, type Static } from 'typebox';
import { AuthSpec } from './auth-spec.ts';
import { DNS_LABEL } from '../dns-label.ts';
import { AgentPlacement, DatabasePlacement } from './place-spec.ts';
import { ResourceSpec } from './resource-spec.ts';
import { LONGEST_REPO_REF, LONGEST_REPO_URL, IMAGE_CEL, REPO_REF_CEL, REPO_URL_CEL } from './git-source.ts';
import { RolloutConfig } from './rollout-spec.ts';
import { DatabaseBackup } from './backup-asked.ts';
import { SHARE_BY } from './pins.ts';
import { FormerVolume } from './replacement.ts';
import { DatabaseAsked } from './restore-asked.ts';
import { MAX_VARIABLE_BYTES } from './variable-size.ts';
import { type CelRule, Closed, DateTime, Nullable, StringEnum, Uuid } from '../types.ts';

/* REST's view of a deployment, with fields in snake_case. */

export const SOURCES = ['git', 'external_container'] as const;
export const DEPLOYMENT_TYPES = ['dev_free', 'dev', 'prod'] as const;
export const DEPLOYMENT_STATUSES = ['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

const text = (maxLength: number, description: string, more: { pattern?: string; 'x-kubernetes-validations'?: CelRule[] } = {}) =>
  Type.Optional(Nullable(Type.String({ minLength: 1, maxLength, description, ...more })));

export const DeploymentName = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: DNS_LABEL,
  description: 'A DNS label. Fixed at creation; names the tracing project that is created with the deployment.',
});

export const Secret = Closed({
  name: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    description: 'Name of the environment variable.',
  }),
  value: Type.String({ maxLength: MAX_VARIABLE_BYTES, description: 'Name and value have 131,070 bytes together at most.' }),
});

export const ListenerConfig = Closed({
  k8s_namespace: Type.Optional(
    Nullable(
      Type.String({
        minLength: 1,
        maxLength: 63,
        pattern: DNS_LABEL,
        description: 'Namespace the deployment is placed in. Fixed at creation.',
      }),
    ),
  ),
});

export const SourceConfig = Closed({
  integration_id: Type.Optional(Nullable(Uuid('From GET /v1/integrations/git/install. Fixed at creation. Source git.'))),
  repo_url: text(LONGEST_REPO_URL, 'An https or ssh address of the integration, without a password. Fixed at creation. Source git.', {
    'x-kubernetes-validations': REPO_URL_CEL,
  }),
  deployment_type: Type.Optional(Nullable(StringEnum(DEPLOYMENT_TYPES, { description: 'Fixed at creation. Source git.' }))),
  build_on_push: Type.Optional(
    Nullable(Type.Boolean({ description: 'Build a revision on each push to repo_ref. Not with a tag. Source git.' })),
  ),
  custom_url: text(
    2048,
    'Address under which the deployment is reached, http or https. Where the installation has routes, it asks for a route with its host and path. Source external_container.',
    {
      pattern: '^https?://[^\\s]+$',
    },
  ),
  resource_spec: Type.Optional(Nullable(ResourceSpec)),
  listener_id: Type.Optional(Nullable(Uuid('From GET /v2/listeners. Fixed at creation. Source external_container.'))),
  listener_config: Type.Optional(Nullable(ListenerConfig)),
  database_backup: Type.Optional(Nullable(DatabaseBackup)),
  database_placement: Type.Optional(Nullable(DatabasePlacement)),
  storage_class: text(253, "Storage class of the managed database's volume. Fixed at creation. Default: that of the installation."),
  rollout: Type.Optional(Nullable(RolloutConfig)),
  install_command: text(4096, 'Run from the repository root. JavaScript deployments built from git.'),
  build_command: text(4096, 'Run from the directory of gx.json. JavaScript deployments built from git.'),
});

const revisionFields = {
  repo_ref: text(LONGEST_REPO_REF, 'A branch by its bare name, a tag as refs/tags/<tag>. Source git.', {
    'x-kubernetes-validations': REPO_REF_CEL,
  }),
  gx_config_path: text(1024, 'Path to gx.json in the repository. Source git.'),
  image_uri: text(1024, 'Container image. Source external_container.', { 'x-kubernetes-validations': IMAGE_CEL }),
  auth: Type.Optional(Nullable(AuthSpec)),
  placement: Type.Optional(Nullable(AgentPlacement)),
};

export const SourceRevisionConfigRequest = Closed(revisionFields);

export const SourceRevisionConfig = Closed({
  ...revisionFields,
  repo_commit_sha: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'Read-only.' }))),
});

export const DeploymentCreateRequest = Closed({
  name: DeploymentName,
  source: StringEnum(SOURCES),
  source_config: SourceConfig,
  source_revision_config: SourceRevisionConfigRequest,
  secrets: Type.Array(Secret, { maxItems: 512 }),
  database: Type.Optional(Nullable(DatabaseAsked)),
});

/** The move that a patch asks of the revision that is tried out. */
export const RolloutMoveRequest = Closed(
  {
    share: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: 100, description: 'Its share of the new threads from now on. It never falls.' })),
    ),
    promote: Type.Optional(Nullable(Type.Boolean({ description: 'True: it serves now, without its further steps.' }))),
    abort: Type.Optional(Nullable(Type.Boolean({ description: 'True: it gets no new threads, and ends as DEPLOY_FAILED.' }))),
  },
  { description: 'Moves the revision that is tried out: one of its fields.' },
);
export type RolloutMoveRequest = Static<typeof RolloutMoveRequest>;

export const DeploymentPatchRequest = Closed({
  name: Type.Optional(Nullable(DeploymentName)),
  source: Type.Optional(Nullable(StringEnum(SOURCES))),
  source_config: Type.Optional(Nullable(SourceConfig)),
  source_revision_config: Type.Optional(Nullable(SourceRevisionConfigRequest)),
  secrets: Type.Optional(Nullable(Type.Array(Secret, { maxItems: 512 }))),
  rollout: Type.Optional(Nullable(RolloutMoveRequest)),
});

/** The route of a deployment, as REST shows it. */
const RouteShown = Closed(
  {
    hosts: Type.Array(Type.String(), { description: 'Hosts that it has.' }),
    path: Nullable(Type.String({ description: 'The path below which it answers.' })),
    status: StringEnum(['True', 'False', 'Unknown'], { description: 'Whether callers are led to the deployment.' }),
    reason: Type.String(),
    message: Type.String(),
  },
  { description: 'The route from outside; null: none. Read-only: spec.route of the resource decides about it.' },
);

/** The revisions that have work of their own although another one serves, as REST shows them. */
const RolloutShown = Closed(
  {
    candidate: Nullable(
      Closed(
        {
          revision_id: Nullable(Uuid('The revision; null: it is gone.')),
          step: Type.Integer({ description: 'The step that it is at, the first one being 1.' }),
          share: Type.Integer({ description: 'Percent of the new threads that belong to it.' }),
          by: StringEnum(SHARE_BY, { description: 'Whose hash decides.' }),
          since: DateTime('When it got this share.'),
          gate: Nullable(StringEnum(['Running', 'Passed'], { description: 'The run before its first share; null: it has none.' })),
          verdict: Nullable(Type.String({ description: 'The result of its checks in words; null: it has none.' })),
        },
        { description: 'The revision that is tried out with a share of the new threads; null: none.' },
      ),
    ),
    aborted: Nullable(
      Closed(
        {
          revision_id: Nullable(Uuid('The revision; null: it is gone.')),
          since: DateTime('When it was given up.'),
          message: Type.String({ description: 'One sentence on the reason.' }),
        },
        { description: 'The revision that was given up last while it was tried out; null: none.' },
      ),
    ),
    draining: Type.Array(
      Closed({
        revision_id: Nullable(Uuid('The replaced revision; null: it is gone.')),
        since: DateTime('When it was replaced.'),
        runs: Nullable(Type.Integer({ description: 'Its runs that have not ended, as last reported.' })),
        threads: Nullable(Type.Integer({ description: 'Threads that wait for an answer at it, or that stay with it.' })),
      }),
      { description: 'Replaced revisions that keep work, the oldest first.' },
    ),
  },
  { description: 'Which revisions have work. Null: nothing serves, or no gateway is installed. Read-only.' },
);

/** The restore of a deployment's database, as REST shows it. */
const RestoreShown = Closed(
  {
    status: StringEnum(['True', 'False', 'Unknown'], { description: 'Whether the database has the backup.' }),
    reason: Type.String(),
    message: Type.String(),
    backup: Nullable(Type.String({ description: 'The backup, once it is restored.' })),
    from: Nullable(DateTime('The moment that its data is of.')),
    former_volumes: Type.Array(FormerVolume, { description: 'Volumes with data that was replaced. A restore may go back to one.' }),
  },
  { description: 'The backup that its database began with, or has now; null: none. Read-only.' },
);

/** The changes that a dry run would make. */
export const Plan = Closed({
  revision: Nullable(
    Closed(
      { number: Type.Integer(), source: StringEnum(SOURCES), source_revision_config: SourceRevisionConfig },
      { description: 'The revision it would make; null: none.' },
    ),
  ),
  objects: Type.Array(Type.Object({ kind: Type.String() }), {
    description: 'Resources that would be written, as they would be stored. A Secret shows its names only.',
  }),
});

export const Deployment = Closed({
  id: Uuid('Read-only.'),
  name: DeploymentName,
  source: StringEnum(SOURCES),
  source_config: SourceConfig,
  source_revision_config: SourceRevisionConfig,
  secrets: Type.Array(Secret),
  created_at: DateTime('Read-only.'),
  updated_at: DateTime('Read-only.'),
  status: StringEnum(DEPLOYMENT_STATUSES, { description: 'Read-only.' }),
  latest_revision_id: Nullable(Uuid('Read-only.')),
  active_revision_id: Nullable(Uuid('The revision that serves. Read-only.')),
  image_version: Nullable(Type.String({ description: 'Version of the agent server that the pods report.' })),
  tenant_id: Uuid('Read-only.'),
  url: Nullable(Type.String({ description: 'Where the agent server answers. Read-only.' })),
  route: Nullable(RouteShown),
  rollout: Nullable(RolloutShown),
  restore: Nullable(RestoreShown),
});

/** The answer to a write: a deployment, and the plan if it was a dry run. */
export const WrittenDeployment = Closed({ ...Deployment.properties, plan: Type.Optional(Plan) });

export type Secret = Static<typeof Secret>;
export type SourceConfig = Static<typeof SourceConfig>;
export type DeploymentCreateRequest = Static<typeof DeploymentCreateRequest>;
export type DeploymentPatchRequest = Static<typeof DeploymentPatchRequest>;
export type Plan = Static<typeof Plan>;
export type Deployment = Static<typeof Deployment>;
export type WrittenDeployment = Static<typeof WrittenDeployment>;
