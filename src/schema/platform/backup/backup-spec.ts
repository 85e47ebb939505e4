import { Type, type Static } from 'typebox';
import { DNS_LABEL } from '../../dns-label.ts';
import {
  buildDateTimeSchema,
  buildEnumSchema,
  buildUuidSchema,
  addCelRules,
  buildOptionalFields,
  buildOptionalText,
} from '../../types.ts';

/** How a backup is made: by pg_dump, or by copies of the database's files and its log. */
export const BACKUP_METHODS = ['dump', 'continuous'] as const;
export type BackupMethod = (typeof BACKUP_METHODS)[number];

/** How many backups are kept where a deployment does not say. */
export const KEPT = 7;

const KeepSpec = addCelRules(
  Type.Object(
    {
      count: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'Number of backups to keep, counted from the newest.',
        }),
      ),
      days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 3650,
          description: 'Number of days for which backups are kept.',
        }),
      ),
    },
    {
      description: `Which backups are kept: a count, or a number of days. The newest is always kept. Default: the newest ${KEPT}.`,
    },
  ),
  [
    {
      rule: 'has(self.count) != has(self.days)',
      message: 'database.backup.keep: either count or days',
    },
  ],
);

/** The name of a target of backups, as the installation has it. */
export const buildTargetNameSchema = (description: string) =>
  Type.String({ minLength: 1, maxLength: 63, pattern: DNS_LABEL, description });

/** A deployment's settings of the backups of its managed database. */
export const BackupSpec = addCelRules(
  Type.Object(
    {
      target: buildTargetNameSchema(
        'Name of the backup target, one of settings.backups.targets of the installation.',
      ),
      ...buildOptionalFields({
        schedule: Type.String({
          minLength: 1,
          maxLength: 128,
          description:
            'Schedule of the backups, as a cron expression with five fields: minute, hour, day, month, weekday. Each deployment starts up to an hour later, so that not all start at once. Unset: only on request.',
        }),
        timeZone: Type.String({
          minLength: 1,
          maxLength: 64,
          description: 'Time zone of the schedule, such as Europe/Berlin. Default UTC.',
        }),
        keep: KeepSpec,
        method: buildEnumSchema(BACKUP_METHODS, {
          description:
            'How a backup is made. dump: pg_dump, which other versions of Postgres can read, too. continuous: base backups and the whole write-ahead log, for point-in-time recovery to any second; the target must be S3 over TLS. Default dump.',
        }),
        beforeDeletion: Type.Boolean({
          description:
            'Make a backup before a deletion that removes the data. The deletion waits for it for up to 24 hours, then continues and keeps the volume. Default false.',
        }),
        requestedAt: buildDateTimeSchema('Request a backup now: a new value makes one.'),
      }),
    },
    { description: 'Backups of the managed database. Unset: no backups.' },
  ),
  [
    {
      rule: "!has(self.schedule) || self.schedule.trim().split(' ').filter(part, part != '').size() == 5",
      message: 'database.backup.schedule: five fields, such as "0 2 * * *"',
    },
    {
      rule: '!has(self.timeZone) || has(self.schedule)',
      message: 'database.backup.timeZone: only beside a schedule',
    },
  ],
);
export type BackupSpec = Static<typeof BackupSpec>;

/** Returns true for a deployment whose database keeps its log for backups. */
export const isArchived = ({ spec }: { spec: { database?: { backup?: BackupSpec } } }): boolean =>
  spec.database?.backup?.method === 'continuous';

export const BACKUP_PHASES = ['Running', 'Succeeded', 'Failed'] as const;

/** Returns true if a backup has ended, whichever way. */
export const isBackupOver = (phase: string | undefined): boolean =>
  phase === 'Succeeded' || phase === 'Failed';

/** Ids of encryption keys, never a key. */
const KeyIds = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: 64,
  description:
    'Ids of the encryption keys that are needed to read its data. encryption.path stands for a module.',
});

export const backupStatus = {
  phase: Type.Optional(buildEnumSchema(BACKUP_PHASES)),
  reason: buildOptionalText(
    128,
    'Machine-readable reason of a failure, or why its Job has no pod.',
  ),
  message: buildOptionalText(4096, 'A sentence about the phase.'),
  from: Type.Optional(
    buildDateTimeSchema(
      'The point in time of its data. continuous: the earliest one that can be restored with it; every later one can be, too.',
    ),
  ),
  until: Type.Optional(buildDateTimeSchema('When it was completed.')),
  size: buildOptionalText(32, 'Its size.'),
  sizeBytes: Type.Optional(Type.Integer({ minimum: 0, description: 'Its size in bytes.' })),
  migration: Type.Optional(
    Type.Integer({ minimum: 0, description: "Newest migration of the database's schema." }),
  ),
  expires: Type.Optional(
    buildDateTimeSchema('When it may be removed. Unset: once there are enough newer ones.'),
  ),
  keys: Type.Optional(KeyIds),
  verified: Type.Optional(
    buildDateTimeSchema(
      'When it was last verified: restored into a scratch database, with the row counts of the original.',
    ),
  ),
  verifying: Type.Optional(
    buildDateTimeSchema('When its verification began, while it is under way.'),
  ),
  verifyFailed: Type.Optional(
    buildDateTimeSchema('When a verification last failed, unless one has succeeded since.'),
  ),
  verifyMessage: buildOptionalText(4096, 'Why it failed.'),
  verifyWaits: buildOptionalText(4096, 'Why the Job of a verification under way has no pod.'),
};

/** The form of a backup's name: the moment at which it was begun, in UTC. It becomes a part of keys at the store. */
export const BACKUP_NAME = /^(\d{4})([01]\d)([0-3]\d)t([0-2]\d)([0-5]\d)([0-6]\d)z$/;

/** One backup, as the operator knows it. The catalogue of its target is the truth. */
export const BackupRecord = addCelRules(
  Type.Object({
    deployment: Type.String({
      maxLength: 63,
      pattern: DNS_LABEL,
      description: 'The Deployment whose database was backed up.',
    }),
    deploymentUid: buildUuidSchema('Its metadata.uid.'),
    backup: Type.String({
      maxLength: 63,
      pattern: BACKUP_NAME.source,
      description:
        'Its name in the catalogue of the target: the time at which it was begun, in UTC.',
    }),
    target: Type.String({
      maxLength: 63,
      description: 'The backup target that holds it.',
    }),
    method: buildEnumSchema(BACKUP_METHODS),
    requestedAt: Type.Optional(
      buildDateTimeSchema('The request that it was made for. Unset: the schedule.'),
    ),
  }),
  [{ rule: 'self == oldSelf', message: "spec: a backup can't be changed" }],
);
export type BackupRecord = Static<typeof BackupRecord>;
