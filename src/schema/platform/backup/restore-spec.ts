import { Type, type Static } from 'typebox';
import { buildTargetNameSchema } from './backup-spec.ts';
import { DNS_LABEL } from '../../dns-label.ts';
import { buildCelHas } from '../source/source-fields.ts';
import {
  buildDateTimeSchema,
  buildUuidSchema,
  addCelRules,
  type CelRule,
  buildOptionalFields,
} from '../../types.ts';

const SOURCES = '[has(self.backup), has(self.deployment), has(self.volume)].filter(given, given)';

/** The backup that a deployment begins with, or that replaces the data of a living one. */
export const RestoreSpec = addCelRules(
  Type.Object(
    {
      ...buildOptionalFields({
        backup: Type.String({
          minLength: 1,
          maxLength: 63,
          pattern: DNS_LABEL,
          description:
            'Name of a Backup in a namespace of the tenant. One in the same namespace takes precedence.',
        }),
        deployment: buildUuidSchema(
          'Id of a deployment of the tenant whose backups are at a target. The deployment may have been deleted, or be in another cluster.',
        ),
        target: buildTargetNameSchema(
          'The backup target that holds them. Default: that of the deployment with this id, if it is in this cluster.',
        ),
        at: buildDateTimeSchema(
          'The point in time to restore. With dumps, the newest one at or before this time is restored. Unset: the newest.',
        ),
        requestedAt: buildDateTimeSchema(
          'Clone: wait for the backup of this request (spec.database.backup.requestedAt of that deployment), and restore it.',
        ),
        sqlConfigMap: Type.String({
          minLength: 1,
          maxLength: 253,
          description:
            'ConfigMap in the same namespace with files of SQL. They run in the order of their names, in the transaction of the restore, for example to remove personal data.',
        }),
        volume: Type.String({
          minLength: 1,
          maxLength: 253,
          description:
            'Go back to a former volume, which status.formerVolumes names. Only beside replaceRequestedAt.',
        }),
        replaceRequestedAt: buildDateTimeSchema(
          'Restore into a deployment that has data: a new value requests it. Agents stop, the data is backed up, and the backup is restored into a new volume. Without backup, deployment and volume, the backup that was just made is restored: the data moves to a new volume, for example for another major version of Postgres.',
        ),
        withoutBackup: Type.Boolean({
          description:
            'Do not back up the data that is replaced. Its volume is still kept for a week. Default false.',
        }),
        resume: Type.Boolean({
          description:
            'Resume the work in the backup: runs continue, crons fire, webhooks are sent. False, which is the default of a new deployment: crons are paused, webhooks and push notifications dropped, and queued and running runs are ended as interrupted. Default true with replaceRequestedAt.',
        }),
      }),
    },
    {
      description:
        'The backup from which the managed database is created. No agent starts before it is restored. It can only be changed together with replaceRequestedAt.',
    },
  ),
  [
    {
      rule: `${SOURCES}.size() == 1 || (${SOURCES}.size() == 0 && has(self.replaceRequestedAt))`,
      message: 'database.restore: either backup or deployment, or the volume to go back to',
    },
    {
      rule: `${SOURCES}.size() == 1 || !has(self.withoutBackup) || !self.withoutBackup`,
      message:
        'database.restore.withoutBackup: not without backup, deployment and volume; data that moves goes by its backup',
    },
    {
      rule: '!has(self.volume) || has(self.replaceRequestedAt)',
      message:
        'database.restore.volume: only beside replaceRequestedAt; only a living deployment has a former volume',
    },
    {
      rule: '!has(self.withoutBackup) || has(self.replaceRequestedAt)',
      message:
        'database.restore.withoutBackup: only beside replaceRequestedAt; a new deployment has nothing to back up',
    },
    {
      rule: '!has(self.at) || has(self.deployment)',
      message: 'database.restore.at: only beside deployment',
    },
    {
      rule: '!has(self.requestedAt) || has(self.deployment)',
      message: 'database.restore.requestedAt: only beside deployment',
    },
    {
      rule: '!has(self.requestedAt) || !has(self.at)',
      message: 'database.restore.requestedAt: not beside at',
    },
    {
      rule: '!has(self.target) || has(self.deployment)',
      message: 'database.restore.target: only beside deployment; a Backup names its own',
    },
  ],
);
export type RestoreSpec = Static<typeof RestoreSpec>;

/** A copy of a database's files with which an empty volume is filled. */
export const FilledFrom = {
  copy: Type.Optional(
    Type.String({ maxLength: 128, description: 'The base backup, if it is one.' }),
  ),
  upTo: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'How much of the write-ahead log is replayed after the base backup: up to a point in time, all of it (log), or the part that it needs (copy).',
    }),
  ),
};

const ChosenBackup = Type.Object(
  {
    backup: Type.String({
      maxLength: 253,
      description: 'The backup, as <deployment id>/<name in the catalogue>.',
    }),
    target: Type.String({ maxLength: 63, description: 'The backup target that holds it.' }),
    ...FilledFrom,
  },
  {
    description:
      'The backup that the deployment begins with, as the catalogue names it, while it is being restored.',
  },
);
export type ChosenBackup = Static<typeof ChosenBackup>;

/** The fields of a deployment's status about the backup that it began with. */
export const restoredStatus = {
  chosenBackup: Type.Optional(ChosenBackup),
  restoredBackup: Type.Optional(
    Type.String({
      maxLength: 253,
      description:
        'The backup that its database was restored from, as <deployment id>/<name in the catalogue>.',
    }),
  ),
  restoredFrom: Type.Optional(buildDateTimeSchema('The point in time of the restored data.')),
  restoredAt: Type.Optional(
    buildDateTimeSchema(
      'When it was restored, or went back to a former volume. The deadline of the first rollout counts from then.',
    ),
  ),
};

/** Returns true if the data that is there moves to a new volume, by the backup that is made of it first. */
export const isMove = ({ backup, deployment, volume }: RestoreSpec): boolean =>
  (backup ?? deployment ?? volume) === undefined;

/**
 * Returns true until the backup that a deployment begins with is restored. One that has served is not restored again,
 * whatever became of its status.
 */
export const isRestorePending = ({
  spec,
  status,
}: {
  spec: { database?: { restore?: RestoreSpec } };
  status?: { restoredBackup?: string; activeRevision?: string };
}): boolean =>
  (spec.database?.restore?.backup ?? spec.database?.restore?.deployment) !== undefined &&
  status?.restoredBackup === undefined &&
  status?.activeRevision === undefined;

/** Returns the rule by which a restore never changes by itself. A rule on the field would be skipped at its removal. */
export function restoreRule(): CelRule {
  const [before, after] = ['oldSelf', 'self'].map((root) => buildCelHas(root, 'database.restore'));
  const buildRequestPath = (root: string): string => `${root}.database.restore.replaceRequestedAt`;
  const isSame = `(${before}) && self.database.restore == oldSelf.database.restore`;
  const isNew = `has(${buildRequestPath('self')}) && !((${before}) && has(${buildRequestPath('oldSelf')}) && ${buildRequestPath('self')} == ${buildRequestPath('oldSelf')})`;
  return {
    rule: `(${after}) ? (${isSame}) || (${isNew}) : !(${before})`,
    message: "database.restore: can't be changed, except together with a new replaceRequestedAt",
  };
}
