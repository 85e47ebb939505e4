import { Type, type Static } from 'typebox';
import { BACKUP_METHODS, BACKUP_PHASES } from '../platform/backup/backup-spec.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
} from '../types.ts';

const buildTextSchema = (description: string) => Type.String({ description });

export const BackupAnswer = buildClosedSchema({
  name: buildTextSchema('Name of its Backup object.'),
  status: buildEnumSchema(BACKUP_PHASES, { description: 'Its progress.' }),
  reason: buildNullableSchema(buildTextSchema('Machine-readable reason of a failure.')),
  message: buildNullableSchema(buildTextSchema('A sentence about a failure.')),
  method: buildEnumSchema(BACKUP_METHODS, {
    description:
      'dump: the data at one point in time. continuous: a base backup, with the write-ahead log since then.',
  }),
  target: buildTextSchema('The backup target that holds it.'),
  from: buildNullableSchema(
    buildDateTimeSchema(
      'The point in time of its data. continuous: the earliest one that can be restored with it; every later one can be, too.',
    ),
  ),
  until: buildNullableSchema(buildDateTimeSchema('When it was completed.')),
  size_bytes: buildNullableSchema(Type.Integer({ minimum: 0 })),
  key_ids: Type.Array(Type.String(), {
    description:
      'Ids of the encryption keys that its data needs. encryption.path stands for a module.',
  }),
  expires_at: buildNullableSchema(
    buildDateTimeSchema('When it may be removed. null: once there are enough newer ones.'),
  ),
  verified_at: buildNullableSchema(
    buildDateTimeSchema(
      'When it was last verified, by restoring it into a scratch database and counting its rows. null: never.',
    ),
  ),
  requested_at: buildNullableSchema(
    buildDateTimeSchema('The request that it was made for. null: the schedule.'),
  ),
});
export type BackupAnswer = Static<typeof BackupAnswer>;

export const BackupRequested = buildClosedSchema({
  requested_at: buildDateTimeSchema(
    'Identifies the request; the resulting backup has the same value.',
  ),
});
export type BackupRequested = Static<typeof BackupRequested>;
