import { json, type Route } from '../../http/route.ts';
import { AgentPass } from '../../schema/wire/agent-pass.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { agentPassFor } from '../deployments/agent-pass.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { DeploymentPath, failures, notFound, restRoute } from './route.ts';

/** Returns the route of passes for deployments' agents. A pass has the role of its caller, so that readers get one. */
export const agentPassRoutes = (plane: Pick<ControlPlane, 'config' | 'kube' | 'now' | 'overview' | 'stored'>): Route<Caller>[] => [
  restRoute({
    method: 'post',
    path: '/v2/deployments/{deployment_id}/agent-pass',
    id: 'makeAgentPass',
    summary: "Make a pass of five minutes for the deployment's agents. It has the caller's role there.",
    tag: 'deployments',
    access: 'read',
    audited: true,
    params: DeploymentPath,
    answers: { 200: { description: 'The pass.', schema: AgentPass }, 404: notFound, ...failures },
    handler: async (request) => {
      const deployment = await findDeployment(plane, request.params.deployment_id, request);
      return json(await agentPassFor(plane, deployment, request), 200, { 'cache-control': 'no-store' });
    },
  }),
];
