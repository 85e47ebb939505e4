import { Type, type Static } from 'typebox';
import { BACKUP_METHODS, BACKUP_PHASES } from '../platform/backup-spec.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
} from '../types.ts';

const buildTextSchema = (description: string) => Type.String({ description });

export const BackupAnswer = buildClosedSchema({
  name: buildTextSchema('Name of its Backup object.'),
  status: buildEnumSchema(BACKUP_PHASES, { description: 'How far it is.' }),
  reason: buildNullableSchema(buildTextSchema('Machine-readable reason of a failure.')),
  message: buildNullableSchema(buildTextSchema('One sentence on a failure.')),
  method: buildEnumSchema(BACKUP_METHODS, {
    description: 'dump: the data of one moment. continuous: a copy, with the log since then.',
  }),
  target: buildTextSchema('The target of the installation at which it lies.'),
  from: buildNullableSchema(
    buildDateTimeSchema(
      'The moment that its data is of. continuous: the first one that can be restored with it, as every later one.',
    ),
  ),
  until: buildNullableSchema(buildDateTimeSchema('When it was complete.')),
  size_bytes: buildNullableSchema(Type.Integer({ minimum: 0 })),
  key_ids: Type.Array(Type.String(), {
    description: 'Ids of the encryption keys that its data needs. encryption.path: a module.',
  }),
  expires_at: buildNullableSchema(
    buildDateTimeSchema('When it may be removed. null: when there are enough newer ones.'),
  ),
  verified_at: buildNullableSchema(
    buildDateTimeSchema(
      'When it was last restored into a scratch database, with the rows that it had. null: never.',
    ),
  ),
  requested_at: buildNullableSchema(
    buildDateTimeSchema('The request that it was made for. null: the schedule.'),
  ),
});
export type BackupAnswer = Static<typeof BackupAnswer>;

export const BackupRequested = buildClosedSchema({
  requested_at: buildDateTimeSchema('Names the request: the backup that it makes has the same.'),
});
export type BackupRequested = Static<typeof BackupRequested>;
