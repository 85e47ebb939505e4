import { Type, type Static } from 'typebox';
import { BACKUP_METHODS, buildTargetNameSchema, type BackupSpec } from './backup-spec.ts';
import {
  buildClosedSchema,
  buildNullableSchema,
  buildEnumSchema,
  toResourceForm,
  toRestForm,
  buildNullableFields,
} from '../types.ts';

const Keep = buildClosedSchema(
  {
    count: Type.Optional(
      buildNullableSchema(
        Type.Integer({ minimum: 1, maximum: 1000, description: 'So many backups, the newest.' }),
      ),
    ),
    days: Type.Optional(
      buildNullableSchema(
        Type.Integer({ minimum: 1, maximum: 3650, description: 'The backups of so many days.' }),
      ),
    ),
  },
  {
    description:
      'Which backups are kept: a count or days. The newest always is. Default: 7 of them.',
  },
);

/** The backups of a managed database, as REST asks for them. */
export const DatabaseBackup = buildClosedSchema(
  {
    ...buildNullableFields({
      target: buildTargetNameSchema(
        'Name of a target of the installation, where the backups are kept.',
      ),
      schedule: Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'When backups are made, in the five fields of cron. null: only on request.',
      }),
      time_zone: Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Time zone of the schedule, such as Europe/Berlin. Default UTC.',
      }),
      keep: Keep,
      method: buildEnumSchema(BACKUP_METHODS, {
        description:
          'dump: by pg_dump. continuous: copies of the files and all of the log; the target must speak S3 by TLS. Default dump.',
      }),
      before_deletion: Type.Boolean({
        description:
          'Make a backup before a deletion that deletes the data: it waits up to 24 hours, then it goes on and leaves the volume. Default false.',
      }),
    }),
  },
  {
    description:
      'Backups of the managed database. They replace the former settings as a whole. {}: there are none.',
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
