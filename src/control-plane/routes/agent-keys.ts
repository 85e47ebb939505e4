import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import { AgentKey } from '../../schema/wire/agent-key.ts';
import type { ControlPlane } from '../control-plane.ts';
import { readAgentKey, rotateKey } from '../deployments/key.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { DeploymentPath, buildRestRouteMakers } from './route.ts';

const route = buildRestRouteMakers<[ControlPlane]>('deployments');

/** No cache may keep a key. */
const SECRET = { 'cache-control': 'no-store' };

/** Returns the routes of the keys that open deployments' agents. They need the role write, as values of secrets do. */
export const agentKeyRoutes = bindRoutes([
  route.get('/v2/deployments/{deployment_id}/key', {
    id: 'getDeploymentKey',
    summary: "Get the API key of the deployment's agents.",
    access: 'write',
    params: DeploymentPath,
    answers: { 200: { description: 'The key.', schema: AgentKey } },
    handler: async (request, plane) => {
      const deployment = await findDeployment(plane, request.params.deployment_id, request);
      return answerJson(await readAgentKey(plane, deployment, request.signal), 200, SECRET);
    },
  }),
  route.post('/v2/deployments/{deployment_id}/key/rotate', {
    id: 'rotateDeploymentKey',
    summary:
      "Make a new API key for the deployment's agents. The previous one stays valid for some hours, as set by the installation.",
    access: 'write',
    params: DeploymentPath,
    answers: {
      200: { description: 'The new key. Pods accept it within two minutes.', schema: AgentKey },
      202: {
        description: 'A new key was requested; the answer still holds the old one.',
        schema: AgentKey,
      },
      409: { description: 'The deployment is being changed at the same time.' },
    },
    handler: async (request, plane) => {
      const { key, isNew } = await rotateKey(plane, request.params.deployment_id, request);
      return answerJson(key, isNew ? 200 : 202, SECRET);
    },
  }),
]);
