import { Type, type Static } from 'typebox';
import { buildTargetNameSchema } from './backup-spec.ts';
import { DNS_LABEL } from '../../dns-label.ts';
import type { RestoreSpec } from './restore-spec.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildUuidSchema,
  buildNullableFields,
} from '../../types.ts';

/** The fields of a restore, into a new deployment or a living one. */
const restoreFields = {
  ...buildNullableFields({
    backup: Type.String({
      minLength: 1,
      maxLength: 63,
      pattern: DNS_LABEL,
      description: 'Name of a backup, as in the list of backups.',
    }),
    deployment_id: buildUuidSchema(
      'Id of a deployment whose backups are at a target. The deployment may have been deleted.',
    ),
    target: buildTargetNameSchema('The target that holds them. Default: that of the deployment.'),
    at: buildDateTimeSchema(
      'The point in time to restore. With dumps, the newest one at or before this time is restored. null: the newest.',
    ),
    sql_config_map: Type.String({
      minLength: 1,
      maxLength: 253,
      description:
        "ConfigMap in the deployment's namespace with SQL that runs before agents start, for example to remove personal data.",
    }),
    resume: Type.Boolean({
      description:
        'Resume the work in the backup. Default false: crons are paused, no webhook is sent, and unfinished runs are interrupted.',
    }),
  }),
};

const RestoreAsked = buildClosedSchema(restoreFields, {
  description:
    'The backup from which the managed database is created: either `backup` or `deployment_id`, or neither with `clone_of`. Fixed at creation.',
});
export type RestoreAsked = Static<typeof RestoreAsked>;

/** A restore into a living deployment. */
export const ReplaceAsked = buildClosedSchema(
  {
    ...restoreFields,
    ...buildNullableFields({
      volume: Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'A former volume to go back to, as `restore.former_volumes` names it.',
      }),
      without_backup: Type.Boolean({
        description:
          'Do not back up the data that is replaced. Its volume is still kept for a week. Default false.',
      }),
      resume: Type.Boolean({
        description:
          'Default true. false: crons are paused, no webhook is sent, and unfinished runs are interrupted.',
      }),
    }),
  },
  { description: 'The backup that replaces the data: `backup`, `deployment_id` or `volume`.' },
);
export type ReplaceAsked = Static<typeof ReplaceAsked>;

/** Returns a restore into a living deployment as the resource has it. */
export const toReplacementSpec = (
  { volume, without_backup, ...restore }: ReplaceAsked,
  replaceRequestedAt: string,
): RestoreSpec => ({
  ...toRestoreSpec(restore),
  ...(typeof volume === 'string' && { volume }),
  ...(typeof without_backup === 'boolean' && { withoutBackup: without_backup }),
  replaceRequestedAt,
});

/** The data that the database of a new deployment begins with. */
export const DatabaseAsked = buildClosedSchema({
  restore: Type.Optional(buildNullableSchema(RestoreAsked)),
  clone_of: Type.Optional(
    buildNullableSchema(
      buildUuidSchema(
        'Id of a deployment to clone: its database is backed up now, and the backup restored here. It must name a backup target.',
      ),
    ),
  ),
});

/** A request for a backup of another deployment, which a new one begins with. */
export type CloneRequest = { deployment: string; requestedAt?: string };

/** Returns the restore as the resource has it. */
export const toRestoreSpec = (
  { backup, deployment_id, target, at, sql_config_map, resume }: RestoreAsked,
  clone?: CloneRequest,
): RestoreSpec => ({
  ...clone,
  ...(typeof backup === 'string' && { backup }),
  ...(typeof deployment_id === 'string' && { deployment: deployment_id }),
  ...(typeof target === 'string' && { target }),
  ...(typeof at === 'string' && { at }),
  ...(typeof sql_config_map === 'string' && { sqlConfigMap: sql_config_map }),
  ...(typeof resume === 'boolean' && { resume }),
});
