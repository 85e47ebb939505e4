import { answerEvents, bindRoutes } from '../../http/routes/route.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { answerForDeployment, answerForRevision } from '../deployments/answers.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { DeploymentPath, RevisionPath, buildRestRouteMakers } from './route.ts';
import { followAll } from '../deployments/follow-all.ts';
import { follow } from '../stored/follow.ts';
import { ENDED } from '../../schema/platform/deployment/statuses.ts';
import type { Revision } from '../../schema/platform/deployment/revision.ts';

const route = buildRestRouteMakers<[ControlPlane]>('events');
const answers = {
  200: {
    description: 'Server-sent events: the record at once and at each change, then "end".',
    contentType: 'text/event-stream',
  },
};

export const eventRoutes = bindRoutes([
  route.get('/v2/events', {
    id: 'followDeployments',
    summary: 'Follow the changes of all deployments. Last-Event-ID resumes after that message.',
    access: 'read',
    answers: {
      200: {
        description:
          'Server-sent events: "ready" at once, then "deployment" with a summary and "gone" with an id. "resync": read the list again.',
        contentType: 'text/event-stream',
      },
    },
    handler: async ({ caller, headers }, plane) =>
      answerEvents((left) =>
        followAll(plane, { caller, signal: left }, [headers['last-event-id']].flat()[0]),
      ),
  }),
  route.get('/v2/deployments/{deployment_id}/events', {
    id: 'followDeployment',
    summary: 'Follow a deployment until it is deleted.',
    access: 'read',
    params: DeploymentPath,
    answers,
    handler: async ({ params, caller, signal }, plane) => {
      const { uid } = (await findDeployment(plane, params.deployment_id, { caller, signal }))
        .metadata;
      return answerEvents((left) => {
        const call: CallContext = { caller, signal: left };
        const read = async () =>
          answerForDeployment(plane, await findDeployment(plane, params.deployment_id, call), call);
        return follow(plane, call, { event: 'deployment', uid, read, ended: () => false });
      });
    },
  }),
  route.get('/v2/deployments/{deployment_id}/revisions/{revision_id}/events', {
    id: 'followRevision',
    summary: 'Follow a revision until it has ended.',
    access: 'read',
    params: RevisionPath,
    answers,
    handler: async ({ params, caller, signal }, plane) => {
      const read = (call: CallContext): Promise<Revision> => answerForRevision(plane, params, call);
      await read({ caller, signal });
      const { uid } = (await findDeployment(plane, params.deployment_id, { caller, signal }))
        .metadata;
      return answerEvents((left) => {
        const call: CallContext = { caller, signal: left };
        return follow(plane, call, {
          event: 'revision',
          uid,
          read: () => read(call),
          ended: ({ status }) => ENDED.includes(status),
        });
      });
    },
  }),
]);
