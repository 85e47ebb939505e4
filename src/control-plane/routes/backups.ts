import { Type } from 'typebox';
import { Closed } from '../../schema/types.ts';
import { json, routesWith } from '../../http/route.ts';
import { DNS_LABEL } from '../../schema/dns-label.ts';
import { ReplaceAsked } from '../../schema/platform/restore-asked.ts';
import { BackupAnswer, BackupRequested } from '../../schema/wire/backup-answer.ts';
import type { ControlPlane } from '../control-plane.ts';
import { backupOf, backupsOf, requestBackup } from '../deployments/backups.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { requestReplacement } from '../deployments/replace.ts';
import { pageOf, paging } from '../paging.ts';
import { onePage, DeploymentPath, rejected, restRoutes } from './route.ts';

const ListQuery = Closed(paging);
const BackupPath = Type.Object({
  ...DeploymentPath.properties,
  backup: Type.String({ minLength: 1, maxLength: 63, pattern: DNS_LABEL, description: 'Its name, as the list has it.' }),
});
const route = restRoutes<[Plane]>('deployments');

type Plane = Pick<ControlPlane, 'config' | 'kube' | 'now' | 'secrets' | 'stored'>;

/** Returns the routes of the backups of deployments' databases. */
export const backupRoutes = routesWith([
  route.get('/v2/deployments/{deployment_id}/backups', {
    id: 'listBackups',
    summary: "List the backups of a deployment's database, newest first.",
    access: 'read',
    params: DeploymentPath,
    query: ListQuery,
    answers: { 200: onePage(BackupAnswer) },
    handler: async ({ params, query, ...asking }, plane) => {
      const deployment = await findDeployment(plane, params.deployment_id, asking);
      const { items, offset } = pageOf(await backupsOf(plane, deployment, asking.signal), query);
      return json({ resources: items, offset });
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
      return json(await backupOf(plane, deployment, { name: params.backup, signal: asking.signal }));
    },
  }),
  route.post('/v2/deployments/{deployment_id}/backups', {
    id: 'requestBackup',
    summary: 'Ask for a backup now. The list shows it once it is its turn.',
    access: 'write',
    params: DeploymentPath,
    answers: {
      202: { description: 'It is asked for.', schema: BackupRequested },
      400: rejected,
      409: { description: 'The deployment is being deleted, or changed at the same time.' },
    },
    handler: async ({ params, ...call }, plane) => json(await requestBackup(plane, params.deployment_id, call), 202),
  }),
  route.post('/v2/deployments/{deployment_id}/restore', {
    id: 'restoreDeployment',
    summary: 'Replace the data of a deployment by a backup, or go back to a former volume. `restore` of the deployment says how far it is.',
    access: 'write',
    params: DeploymentPath,
    body: ReplaceAsked,
    answers: {
      202: { description: 'It is asked for.', schema: BackupRequested },
      400: rejected,
      409: { description: 'The deployment is being deleted or restored, or changed at the same time.' },
    },
    handler: async ({ params, body, ...call }, plane) =>
      json(await requestReplacement(plane, { id: params.deployment_id, body }, call), 202),
  }),
]);
