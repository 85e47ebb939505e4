import { Type, type Static } from 'typebox';
import { DatabasePlacement } from './place-spec.ts';
import { BackupSpec } from '../backup/backup-spec.ts';
import { RestoreSpec } from '../backup/restore-spec.ts';
import { buildPresenceRule } from '../source/source-fields.ts';
import {
  buildDateTimeSchema,
  addCelRules,
  type CelRule,
  buildOptionalFields,
} from '../../types.ts';

/** The key of a database's Secret that holds its address, unless the spec names another. */
export const URI_KEY = 'uri';

const ExternalDatabase = Type.Object(
  {
    secretName: Type.String({
      minLength: 1,
      maxLength: 253,
      description:
        'Secret in the same namespace with the address of the database. A change of the name restarts the pods one by one.',
    }),
    key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: `Key of the Secret that holds it, as postgresql://user:password@host:port/name. Default ${URI_KEY}.`,
      }),
    ),
  },
  {
    description:
      'A database outside the platform: no StatefulSet, Service or volume is created. Fixed at creation.',
  },
);

/** The secret in which a deployment names a database outside the platform. */
export const CUSTOM_URI = 'POSTGRES_URI_CUSTOM';

const NOT_OURS = 'has(self.external) || (has(self.fromSecrets) && self.fromSecrets)';

/** A deployment's settings of its database, besides the sizes in its resource spec. */
export const DatabaseSpec = addCelRules(
  Type.Object({
    ...buildOptionalFields({
      external: ExternalDatabase,
      fromSecrets: Type.Boolean({
        description: `The deployment's secrets name a database outside the platform, in ${CUSTOM_URI}: no StatefulSet, Service or volume is created. Fixed at creation; REST sets it for a deployment that is created with such a secret.`,
      }),
      passwordRequestedAt: buildDateTimeSchema(
        'Request a new password for the managed database: a new value makes one, without downtime.',
      ),
      backup: BackupSpec,
      restore: RestoreSpec,
      podDisruptionBudget: Type.Boolean({
        description:
          'Block drains of the node that the managed database runs on until this is false again or the deployment hibernates. Default false: a drain stops the database until its pod has started elsewhere.',
      }),
      placement: DatabasePlacement,
      storageClass: Type.String({
        minLength: 1,
        maxLength: 253,
        description:
          "Storage class of the managed database's volume. Never changes. Default: that of the installation.",
      }),
    }),
  }),
  [
    {
      rule: '!has(self.external) || !(has(self.fromSecrets) && self.fromSecrets)',
      message: 'database.fromSecrets: not beside database.external; one of them names the database',
    },
    {
      rule: `!(${NOT_OURS}) || !has(self.passwordRequestedAt)`,
      message:
        'database.passwordRequestedAt: only for a managed database; the password of an external one is in its Secret',
    },
    {
      rule: `!(${NOT_OURS}) || !has(self.backup)`,
      message:
        'database.backup: only for a managed database; an external one is backed up by its own administrator',
    },
    {
      rule: `!(${NOT_OURS}) || !has(self.restore)`,
      message:
        'database.restore: only for a managed database; an external one is restored by its own administrator',
    },
    {
      rule: `!(${NOT_OURS}) || !has(self.podDisruptionBudget)`,
      message:
        'database.podDisruptionBudget: only for a managed database; an external one has no pod of ours',
    },
    {
      rule: `!(${NOT_OURS}) || !has(self.placement)`,
      message:
        'database.placement: only for a managed database; an external one has no pod of ours',
    },
    {
      rule: `!(${NOT_OURS}) || !has(self.storageClass)`,
      message:
        'database.storageClass: only for a managed database; an external one has no volume of ours',
    },
  ],
);
const isFromSecrets = (self: string): string =>
  `(has(${self}.database) && has(${self}.database.fromSecrets) && ${self}.database.fromSecrets)`;

/** Returns the rules by which a deployment's database never changes to another engine. */
export const buildEngineRules = (): CelRule[] => [
  {
    rule: `${isFromSecrets('self')} == ${isFromSecrets('oldSelf')}`,
    message:
      "database.fromSecrets: can't be changed: create the deployment again with the same secrets; its data is in the database that they name",
  },
  buildPresenceRule(
    'database.external',
    "a managed database can't become an external one, nor the reverse; move the data to a new deployment",
  ),
];

export type DatabaseSpec = Static<typeof DatabaseSpec>;
export type ExternalDatabase = Static<typeof ExternalDatabase>;
