import { Type } from 'typebox';
import { json, type Route } from '../../http/route.ts';
import { BackupAnswer, BackupRequested } from '../../schema/wire/backup-answer.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { backupsOf, requestBackup } from '../deployments/backups.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { pageOf, paging } from '../paging.ts';
import { DeploymentPath, failures, notFound, rejected, restRoute } from './route.ts';

const ListQuery = Type.Object(paging, { additionalProperties: false });
const tag = 'deployments';

/** Returns the routes of the backups of deployments' databases. */
export const backupRoutes = (plane: Pick<ControlPlane, 'config' | 'kube' | 'now' | 'stored'>): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/backups',
    id: 'listBackups',
    summary: "List the backups of a deployment's database, newest first.",
    tag,
    access: 'read',
    params: DeploymentPath,
    query: ListQuery,
    answers: {
      200: { description: 'One page.', schema: Type.Object({ resources: Type.Array(BackupAnswer), offset: Type.Integer() }) },
      404: notFound,
      ...failures,
    },
    handler: async ({ params, query, ...asking }) => {
      const deployment = await findDeployment(plane, params.deployment_id, asking);
      const { items, offset } = pageOf(await backupsOf(plane, deployment, asking.signal), query);
      return json({ resources: items, offset });
    },
  }),
  restRoute({
    method: 'post',
    path: '/v2/deployments/{deployment_id}/backups',
    id: 'requestBackup',
    summary: 'Ask for a backup now. The list shows it once it is its turn.',
    tag,
    access: 'write',
    params: DeploymentPath,
    answers: {
      202: { description: 'It is asked for.', schema: BackupRequested },
      400: rejected,
      404: notFound,
      409: { description: 'The deployment is being deleted, or changed at the same time.' },
      ...failures,
    },
    handler: async ({ params, ...call }) => json(await requestBackup(plane, params.deployment_id, call), 202),
  }),
];
