import { answerJson, bindRoutes, type Route } from '../../http/routes/route.ts';
import { RecentAnswers } from '../../http/limits/shared-answers.ts';
import type { AgentKey } from '../../schema/wire/agent-key.ts';
import { AgentPass, PASS_SECONDS } from '../../schema/wire/agent-pass.ts';
import type { Caller, CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { DeploymentPath, buildRestRouteMakers } from './route.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { signPass } from '../../tokens/agent-pass.ts';
import { readAgentKey } from '../deployments/key.ts';

const route =
  buildRestRouteMakers<[ControlPlane & { keys: RecentAnswers<AgentKey> }]>('deployments');

const REMEMBERED_MS = 2000;
/** Keys that are remembered at most. */
const MAX_REMEMBERED = 1000;

/** Returns the route of passes for deployments' agents. A pass has the role of its caller, so that readers get one. */
export function buildAgentPassRoutes(plane: ControlPlane): Route<Caller>[] {
  const keys = new RecentAnswers<AgentKey>({ milliseconds: REMEMBERED_MS, most: MAX_REMEMBERED });
  return passRoutes({ ...plane, keys });
}

const passRoutes = bindRoutes([
  route.post('/v2/deployments/{deployment_id}/agent-pass', {
    id: 'makeAgentPass',
    summary:
      "Create a pass for the deployment's agents. It is valid for five minutes and has the caller's role.",
    access: 'read',
    audited: true,
    params: DeploymentPath,
    answers: { 200: { description: 'The pass.', schema: AgentPass } },
    handler: async (request, plane) => {
      const deployment = await findDeployment(plane, request.params.deployment_id, request);
      return answerJson(await createAgentPass(plane, deployment, request), 200, {
        'cache-control': 'no-store',
      });
    },
  }),
]);

/** Makes a pass for the caller. Throws `NotFound` for a deployment without a key. */
async function createAgentPass(
  plane: ControlPlane & { keys: RecentAnswers<AgentKey> },
  deployment: DeploymentResource,
  { caller }: CallContext,
): Promise<AgentPass> {
  // With another key the status has other hashes, so a new key signs from the moment on that it is known.
  const known = JSON.stringify([
    deployment.metadata.uid,
    deployment.status?.keyHashes,
    deployment.status?.keyRequest,
  ]);
  const { api_key: key, previous_api_key: previous } = await plane.keys.getOrAsk(known, () =>
    readAgentKey(plane, deployment),
  );
  const { id, active } = plane.overview.summarize(deployment);
  const { name, namespace = '' } = deployment.metadata;
  const { keyName, keyId, role } = caller;
  const exp = computePassEnd(caller, plane.now());
  return {
    pass: signPass(
      { deployment: id, subject: keyId ?? keyName, name: keyName, role, exp },
      [key, previous ?? []].flat(),
    ),
    expires_at: new Date(exp * 1000).toISOString(),
    role,
    service: names.service(name),
    namespace,
    mount_prefix: active?.status?.mountPrefix ?? '',
    guard: active?.status?.guard ?? null,
    asleep_since: deployment.status?.asleepSince ?? null,
  };
}

/** Returns the second in which a pass ends. None outlives the credentials for which it was made. */
function computePassEnd({ expiresAt }: Caller, now: Date): number {
  const own = Math.floor(now.getTime() / 1000) + PASS_SECONDS;
  return expiresAt === undefined ? own : Math.min(own, Math.floor(Date.parse(expiresAt) / 1000));
}
