import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { KeptPorts } from '../../schema/kept-ports.ts';
import { NODE_PORT } from '../../schema/labels.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { isSleeper } from '../family/sleepers.ts';
import { nodePortOf } from './service.ts';

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

/**
 * Returns the deployment with the ports that it keeps, whatever its status says. A Service that has to be made again
 * asks for the node port that the one before had, unless an annotation names another.
 */
export function deploymentWithPorts(
  deployment: DeploymentResource,
  { gateway, node }: KeptPorts,
  service: KubeObject | undefined,
): DeploymentResource {
  const { gatewayPort: _port, ...status } = deployment.status ?? {};
  const { annotations } = deployment.metadata;
  const isAsked = node !== undefined && service === undefined && annotations?.[NODE_PORT] === undefined;
  return {
    ...deployment,
    ...(isAsked && { metadata: { ...deployment.metadata, annotations: { ...annotations, [NODE_PORT]: String(node) } } }),
    status: { ...status, ...(gateway !== undefined && { gatewayPort: gateway }) },
  };
}
