import { sse, type Route } from '../../http/route.ts';
import { answerFor, answerForRevision, findDeployment, type Asking } from '../deployments/find.ts';
import { DeploymentPath, failures, notFound } from '../deployments/routes.ts';
import { route, type Caller, type Needs } from '../needs.ts';
import { RevisionPath } from '../revisions/routes.ts';
import { ENDED, type Revision } from '../../schema/revision.ts';
import { follow } from './follow.ts';

const tag = 'events';
const answers = {
  200: { description: 'Server-sent events: the record at once and at each change, then "end".', contentType: 'text/event-stream' },
  404: notFound,
  ...failures,
};

export const eventRoutes = (needs: Needs): Route<Caller>[] => [
  route({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/events',
    id: 'followDeployment',
    summary: 'Follow a deployment until it is gone.',
    tag,
    access: 'read',
    params: DeploymentPath,
    answers,
    handler: async ({ params, caller, signal }) => {
      await findDeployment(needs, params.deployment_id, { caller, signal });
      return sse((left) => {
        const asking: Asking = { caller, signal: left };
        const read = async () => answerFor(needs, await findDeployment(needs, params.deployment_id, asking), asking);
        return follow(needs, asking, { event: 'deployment', read, ended: () => false });
      });
    },
  }),
  route({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/events',
    id: 'followRevision',
    summary: 'Follow a revision until it has ended.',
    tag,
    access: 'read',
    params: RevisionPath,
    answers,
    handler: async ({ params, caller, signal }) => {
      const read = (asking: Asking): Promise<Revision> => answerForRevision(needs, params, asking);
      await read({ caller, signal });
      return sse((left) => {
        const asking: Asking = { caller, signal: left };
        return follow(needs, asking, { event: 'revision', read: () => read(asking), ended: ({ status }) => ENDED.includes(status) });
      });
    },
  }),
];
