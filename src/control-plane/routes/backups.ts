import { Type } from 'typebox';
import { buildClosedSchema } from '../../schema/types.ts';
import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import { DNS_LABEL } from '../../schema/dns-label.ts';
import { ReplaceAsked } from '../../schema/platform/backup/restore-asked.ts';
import { BackupAnswer, BackupRequested } from '../../schema/wire/backup-answer.ts';
import type { ControlPlane } from '../control-plane.ts';
import { requireBackup, listBackups, startBackup } from '../deployments/backups.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { startReplacement } from '../deployments/replace.ts';
import { takePage, paging } from '../paging.ts';
import { describePage, DeploymentPath, rejected, buildRestRouteMakers } from './route.ts';

const ListQuery = buildClosedSchema(paging);
const BackupPath = Type.Object({
  ...DeploymentPath.properties,
  backup: Type.String({
    minLength: 1,
    maxLength: 63,
    pattern: DNS_LABEL,
    description: 'Its name, as in the list.',
  }),
});
const route = buildRestRouteMakers<[ControlPlane]>('deployments');

export const backupRoutes = bindRoutes([
  route.get('/v2/deployments/{deployment_id}/backups', {
    id: 'listBackups',
    summary: "List the backups of a deployment's database, newest first.",
    access: 'read',
    params: DeploymentPath,
    query: ListQuery,
    answers: { 200: describePage(BackupAnswer) },
    handler: async ({ params, query, ...asking }, plane) => {
      const deployment = await findDeployment(plane, params.deployment_id, asking);
      const { items, offset } = takePage(
        await listBackups(plane, deployment, asking.signal),
        query,
      );
      return answerJson({ resources: items, offset });
    },
  }),
  route.get('/v2/deployments/{deployment_id}/backups/{backup}', {
    id: 'getBackup',
    summary: "Get one backup of a deployment's database.",
    access: 'read',
    params: BackupPath,
    answers: { 200: { description: 'The backup.', schema: BackupAnswer } },
    handler: async ({ params, ...asking }, plane) => {
      const deployment = await findDeployment(plane, params.deployment_id, asking);
      return answerJson(
        await requireBackup(plane, deployment, { name: params.backup, signal: asking.signal }),
      );
    },
  }),
  route.post('/v2/deployments/{deployment_id}/backups', {
    id: 'requestBackup',
    summary: 'Request a backup now. The list shows it once its turn has come.',
    access: 'write',
    params: DeploymentPath,
    answers: {
      202: { description: 'It was requested.', schema: BackupRequested },
      400: rejected,
      409: { description: 'The deployment is being deleted, or changed at the same time.' },
    },
    handler: async ({ params, ...call }, plane) =>
      answerJson(await startBackup(plane, params.deployment_id, call), 202),
  }),
  route.post('/v2/deployments/{deployment_id}/restore', {
    id: 'restoreDeployment',
    summary:
      'Restore a backup into a deployment, or go back to a former volume. `restore` of the deployment shows the progress.',
    access: 'write',
    params: DeploymentPath,
    body: ReplaceAsked,
    answers: {
      202: { description: 'It was requested.', schema: BackupRequested },
      400: rejected,
      409: {
        description: 'The deployment is being deleted or restored, or changed at the same time.',
      },
    },
    handler: async ({ params, body, ...call }, plane) =>
      answerJson(await startReplacement(plane, params.deployment_id, body, call), 202),
  }),
]);
