import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { PASS_SECONDS, type AgentPass } from '../../schema/wire/agent-pass.ts';
import { signedPass } from '../../tokens/agent-pass.ts';
import type { CallContext, Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { keyOfDeployment } from './key.ts';

/** Makes a pass for the caller. Throws `NotFound` for a deployment without a key. */
export async function agentPassFor(
  plane: Pick<ControlPlane, 'kube' | 'now' | 'overview'>,
  deployment: DeploymentResource,
  { caller, signal }: CallContext,
): Promise<AgentPass> {
  const { api_key: key, previous_api_key: previous } = await keyOfDeployment(plane, deployment, signal);
  const { id, active } = plane.overview.of(deployment);
  const { name, namespace = '' } = deployment.metadata;
  const { keyName, keyId, role } = caller;
  const exp = endFor(caller, plane.now());
  return {
    pass: signedPass({ deployment: id, subject: keyId ?? keyName, name: keyName, role, exp }, [key, previous ?? []].flat()),
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
function endFor({ expiresAt }: Caller, now: Date): number {
  const own = Math.floor(now.getTime() / 1000) + PASS_SECONDS;
  return expiresAt === undefined ? own : Math.min(own, Math.floor(Date.parse(expiresAt) / 1000));
}
