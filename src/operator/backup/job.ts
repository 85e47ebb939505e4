import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { BackupResource, DeploymentResource, RevisionResource } from '../../schema/platform/custom-resources.ts';
import { BACKUP } from '../../schema/platform/labels.ts';
import type { BackupOrder } from '../../schema/wire/backup-message.ts';
import { COUNTS, DUMP, FACTS } from './dump-script.ts';
import { keepOf } from './plan.ts';
import { databasePrograms, literal, PIPE, targetInOrder, storeJob, storeSpeaker } from './pod.ts';

/** Characters of the Deployment and its revision: a variable of a process has 128 KiB. Larger ones are left out. */
const MOST_HELD = 100_000;

export type BackupGiven = {
  /** The Secret with the address of the database. */
  secret: string;
  tenant: string;
  /** The revision that serves, if there is one. */
  revision: RevisionResource | undefined;
};

/** Returns the order for a backup. */
export function backupOrder(
  deployment: DeploymentResource,
  backup: BackupResource,
  { tenant, revision, settings }: Ordered,
): BackupOrder | undefined {
  const target = settings.backups.targets[backup.spec.target];
  const spec = deployment.spec.database?.backup;
  if (target === undefined || spec === undefined) return undefined;
  const { uid = '', name, namespace } = deployment.metadata;
  const holds = {
    deployment: { name, namespace, spec: deployment.spec },
    ...(revision && { revision: { name: revision.metadata.name, template: revision.spec.template } }),
  };
  return {
    name: backup.spec.backup,
    target: targetInOrder(target),
    owner: { tenant, id: (deployment.spec.id ?? uid).toLowerCase(), uid },
    keep: keepOf(spec),
    holds: JSON.stringify(holds).length > MOST_HELD ? {} : holds,
  };
}

type Ordered = Omit<BackupGiven, 'secret'> & { settings: OperatorSettings };

type Given = { backup: BackupResource; order: BackupOrder; secret: string };

/** Returns the Job that makes a backup: one container dumps, the other sends the bytes that it reads. */
export function backupJob(deployment: DeploymentResource, { backup, order, secret }: Given, settings: OperatorSettings): KubeObject {
  const env = Object.entries({ PIPE, FACTS, COUNTS }).map(literal);
  return storeJob(
    deployment,
    {
      component: 'backup',
      name: backup.metadata.name,
      annotations: { [BACKUP]: backup.metadata.name },
      target: backup.spec.target,
      containers: [
        databasePrograms(deployment, { name: 'dump', script: DUMP, secret, env }, settings),
        storeSpeaker({ args: ['backup'], variable: 'GX_BACKUP', order, target: backup.spec.target, writes: true }, settings),
      ],
    },
    settings,
  );
}
