import { Type, type Static } from 'typebox';
import { BACKUP_METHODS, BACKUP_PHASES } from '../platform/backup-spec.ts';
import { Closed, DateTime, Nullable, StringEnum } from '../types.ts';

const text = (description: string) => Type.String({ description });

/** REST's view of a backup. */
export const BackupAnswer = Closed({
  name: text('Name of its Backup object.'),
  status: StringEnum(BACKUP_PHASES, { description: 'How far it is.' }),
  reason: Nullable(text('Machine-readable reason of a failure.')),
  message: Nullable(text('One sentence on a failure.')),
  method: StringEnum(BACKUP_METHODS, { description: 'dump: the data of one moment. continuous: a copy, with the log since then.' }),
  target: text('The target of the installation at which it lies.'),
  from: Nullable(DateTime('The moment that its data is of. continuous: the first one that can be restored with it, as every later one.')),
  until: Nullable(DateTime('When it was complete.')),
  size_bytes: Nullable(Type.Integer({ minimum: 0 })),
  key_ids: Type.Array(Type.String(), { description: 'Ids of the encryption keys that its data needs. encryption.path: a module.' }),
  expires_at: Nullable(DateTime('When it may be removed. null: when there are enough newer ones.')),
  verified_at: Nullable(DateTime('When it was last restored into a scratch database, with the rows that it had. null: never.')),
  requested_at: Nullable(DateTime('The request that it was made for. null: the schedule.')),
});
export type BackupAnswer = Static<typeof BackupAnswer>;

/** The answer to a request for a backup. */
export const BackupRequested = Closed({ requested_at: DateTime('Names the request: the backup that it makes has the same.') });
export type BackupRequested = Static<typeof BackupRequested>;
