import { Type, type Static } from 'typebox';
import { DNS_LABEL } from './container.ts';
import { DateTime, StringEnum, Uuid, withRules } from '../types.ts';

/** How many backups are kept where a deployment does not say. */
export const KEPT = 7;

const KeepSpec = withRules(
  Type.Object(
    {
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'So many backups, the newest.' })),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650, description: 'The backups of so many days.' })),
    },
    { description: `Which backups are kept: a count or days. The newest always is. Default: ${KEPT} of them.` },
  ),
  [{ rule: 'has(self.count) != has(self.days)', message: 'database.backup.keep: either count or days' }],
);

/** A deployment's settings of the backups of its managed database. */
export const BackupSpec = withRules(
  Type.Object(
    {
      target: Type.String({
        minLength: 1,
        maxLength: 63,
        pattern: DNS_LABEL,
        description: 'Name of a target of the installation (settings.backups.targets), where the backups are kept.',
      }),
      schedule: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 128,
          description:
            'When backups are made, as cron writes it in five fields: minute, hour, day, month, weekday. Each deployment starts up to an hour later, so that not all start at once. Unset: only on request.',
        }),
      ),
      timeZone: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'Time zone of the schedule, such as Europe/Berlin. Default UTC.' }),
      ),
      keep: Type.Optional(KeepSpec),
      method: Type.Optional(
        Type.String({
          maxLength: 32,
          description: 'How a backup is made. dump: pg_dump, which other versions of Postgres can read, too. Default dump.',
        }),
      ),
      requestedAt: Type.Optional(DateTime('Ask for a backup now: a new value makes one.')),
    },
    { description: 'Backups of the managed database. Unset: there are none.' },
  ),
  [
    { rule: "!has(self.method) || self.method == 'dump'", message: 'database.backup.method: only dump; no other method is built yet' },
    {
      rule: "!has(self.schedule) || self.schedule.trim().split(' ').filter(part, part != '').size() == 5",
      message: 'database.backup.schedule: five fields, such as "0 2 * * *"',
    },
    { rule: '!has(self.timeZone) || has(self.schedule)', message: 'database.backup.timeZone: only beside a schedule' },
  ],
);
export type BackupSpec = Static<typeof BackupSpec>;

export const BACKUP_PHASES = ['Running', 'Succeeded', 'Failed'] as const;

/** Returns true if a backup has ended, whichever way. */
export const isBackupOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** One backup, as the operator knows it. The catalogue of its target is the truth. */
export const BackupRecord = withRules(
  Type.Object({
    deployment: Type.String({ maxLength: 63, pattern: DNS_LABEL, description: 'The Deployment whose database it is of.' }),
    deploymentUid: Uuid('Its metadata.uid.'),
    backup: Type.String({ maxLength: 63, description: 'Its name in the catalogue of the target.' }),
    target: Type.String({ maxLength: 63, description: 'The target of the installation at which it lies.' }),
    method: StringEnum(['dump']),
    requestedAt: Type.Optional(DateTime('The request that it was made for. Unset: the schedule.')),
  }),
  [{ rule: 'self == oldSelf', message: "spec: a backup can't be changed" }],
);
export type BackupRecord = Static<typeof BackupRecord>;
