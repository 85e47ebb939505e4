import { Type, type Static } from 'typebox';
import { Condition } from '../objects/conditions.ts';
import { SOURCES, SourceRevisionConfig } from './deployment.ts';
import { GUARDS } from './guards.ts';
import { REVISION_STATUSES } from './statuses.ts';
import { ResourceSpec } from '../spec/resource-spec.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../types.ts';

export const Revision = buildClosedSchema({
  id: buildUuidSchema('Read-only.'),
  deployment_id: buildUuidSchema('Read-only.'),
  number: Type.Integer({ description: 'Its position among the revisions. Read-only.' }),
  created_at: buildDateTimeSchema('Read-only.'),
  updated_at: buildDateTimeSchema('Read-only.'),
  status: buildEnumSchema(REVISION_STATUSES),
  source: buildEnumSchema(SOURCES),
  source_revision_config: SourceRevisionConfig,
  reason: buildNullableSchema(
    Type.String({ description: 'Machine-readable reason of a failure.' }),
  ),
  status_message: buildNullableSchema(
    Type.String({ description: 'A sentence about the status, for people.' }),
  ),
  log_tail: buildNullableSchema(
    Type.String({ description: 'Last log lines of a pod that failed.' }),
  ),
  image_digest: buildNullableSchema(
    Type.String({ description: 'Digest of its image. Read-only.' }),
  ),
  build_seconds: buildNullableSchema(
    Type.Integer({ description: 'How long its build took. Source git. Read-only.' }),
  ),
  builder_version: buildNullableSchema(
    Type.String({ description: 'Version of the builder. Source git. Read-only.' }),
  ),
});
export type Revision = Static<typeof Revision>;

/** All that is known of one revision. No value of a secret is in it. */
export const RevisionDetails = buildClosedSchema({
  ...Revision.properties,
  made_by: buildNullableSchema(
    Type.String({
      description:
        'Who requested it: a key with its id and name, or the subject of a token. Null: it was not requested through this API.',
    }),
  ),
  rollback_of: buildNullableSchema(
    Type.String({ description: 'The name of the revision whose settings it repeats.' }),
  ),
  push: buildNullableSchema(
    Type.Integer({
      description:
        'Which push to the followed branch made it, counted since the last change of the deployment. Null: a change made it.',
    }),
  ),
  resource_spec: buildNullableSchema(ResourceSpec),
  secrets: Type.Array(
    Type.Object({
      name: Type.String(),
      digest: buildNullableSchema(
        Type.String({
          description: 'Equal for equal values. Null: the caller may not read values.',
        }),
      ),
    }),
    { description: 'Its secrets without their values.' },
  ),
  started_at: buildNullableSchema(buildDateTimeSchema('When its build or its rollout began.')),
  built_at: buildNullableSchema(buildDateTimeSchema('When its image was built.')),
  ended_at: buildNullableSchema(buildDateTimeSchema('When it reached its last status.')),
  server_version: buildNullableSchema(
    Type.String({ description: 'Version of the agent server that its pods report.' }),
  ),
  guard: buildNullableSchema(
    buildEnumSchema(GUARDS, { description: 'How its pods decide who may call.' }),
  ),
  conditions: Type.Array(Condition),
});
export type RevisionDetails = Static<typeof RevisionDetails>;
