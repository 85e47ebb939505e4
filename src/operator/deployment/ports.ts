import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { KeptPorts } from '../../schema/kept-ports.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { isSleeper } from '../family/sleepers.ts';
import { nodePortOf } from './parts/service.ts';

type Seen = { service: KubeObject | undefined; signal: AbortSignal };

/** Returns the ports that the deployment keeps, and keeps what it has not kept yet. */
export async function keptPorts(
  { ports, settings }: Pick<OperatorDeps, 'ports' | 'settings'>,
  deployment: DeploymentResource,
  { service, signal }: Seen,
): Promise<KeptPorts> {
  const { gateway, exposeAs } = settings;
  if (gateway === undefined && exposeAs !== 'NodePort') return {};
  const node = exposeAs === 'NodePort' ? nodePortOf(service) : undefined;
  return ports.keep(deployment.metadata.uid ?? '', { gateway: isSleeper(deployment, settings), node }, signal);
}
