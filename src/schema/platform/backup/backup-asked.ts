import { Type, type Static } from 'typebox';
import { BACKUP_METHODS, buildTargetNameSchema, type BackupSpec } from './backup-spec.ts';
import {
  buildClosedSchema,
  buildNullableSchema,
  buildEnumSchema,
  toResourceForm,
  toRestForm,
  buildNullableFields,
} from '../../types.ts';

const Keep = buildClosedSchema(
  {
    count: Type.Optional(
      buildNullableSchema(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'Number of backups to keep, counted from the newest.',
        }),
      ),
    ),
    days: Type.Optional(
      buildNullableSchema(
        Type.Integer({
          minimum: 1,
          maximum: 3650,
          description: 'Number of days for which backups are kept.',
        }),
      ),
    ),
  },
  {
    description:
      'Which backups are kept: a count, or a number of days. The newest is always kept. Default: the newest 7.',
  },
);

/** The backups of a managed database, as REST asks for them. */
export const DatabaseBackup = buildClosedSchema(
  {
    ...buildNullableFields({
      target: buildTargetNameSchema(
        'Name of the backup target, one of those that the installation has.',
      ),
      schedule: Type.String({
        minLength: 1,
        maxLength: 128,
        description:
          'Schedule of the backups, as a cron expression with five fields. null: only on request.',
      }),
      time_zone: Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Time zone of the schedule, such as Europe/Berlin. Default UTC.',
      }),
      keep: Keep,
      method: buildEnumSchema(BACKUP_METHODS, {
        description:
          'dump: pg_dump. continuous: base backups and the whole write-ahead log, for point-in-time recovery; the target must be S3 over TLS. Default dump.',
      }),
      before_deletion: Type.Boolean({
        description:
          'Make a backup before a deletion that removes the data. The deletion waits for it for up to 24 hours, then continues and keeps the volume. Default false.',
      }),
    }),
  },
  {
    description:
      'Backups of the managed database. The object replaces the former settings as a whole. {}: no backups.',
  },
);
export type DatabaseBackup = Static<typeof DatabaseBackup>;

/** Returns the settings as the resource has them. Undefined for none. */
export function toBackupSpec({ target, keep, ...times }: DatabaseBackup): BackupSpec | undefined {
  if (typeof target !== 'string') return undefined;
  const kept = toResourceForm(keep);
  return { target, ...toResourceForm(times), ...(Object.keys(kept).length > 0 && { keep: kept }) };
}

/** Returns the settings of a resource as REST shows them. */
export const backupShown = ({ keep, ...others }: BackupSpec): DatabaseBackup => ({
  ...toRestForm(DatabaseBackup, others),
  keep: keep === undefined ? null : toRestForm(Keep, keep),
});
