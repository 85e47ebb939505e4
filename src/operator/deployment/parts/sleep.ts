import type { KubeObject } from '../../../kube/kube.ts';
import { OF_SERVICE, OPERATOR, WRITTEN_BY } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { buildAppliedMetadata } from '../../objects/metadata.ts';
import { isSleeper } from '../../rollout/sleepers.ts';
import { getAvailableReplicas } from '../../pods/workload-state.ts';
import { listGatewayEndpoints } from '../../scale/gateways.ts';
import type { DeploymentFacts, Part } from '../part.ts';
import { buildApiService } from './service.ts';

/** The sleep of a deployment: the callers' way to the gateway meanwhile, and its place in the status. */
export const sleep: Part = {
  desired: buildSleepObjects,
  report({ sleep: { sleep: fields, statements, again }, ports }) {
    return {
      status: { ...fields, ...(ports.gateway !== undefined && { gatewayPort: ports.gateway }) },
      statements,
      again: [again],
    };
  },
};

/**
 * Returns the objects of a deployment that may sleep besides its Service: a second Service, by which the gateway
 * reaches its api pods and nothing else, and while there is no such pod, slices that lead the first one to the gateway.
 * Kubernetes joins them with those that it writes itself.
 */
function buildSleepObjects({
  deployment,
  settings,
  target,
  workloads,
  gateways,
  ports,
  isAsleep,
}: DeploymentFacts): KubeObject[] {
  const { name, namespace } = deployment.metadata;
  if (!isSleeper(deployment, settings) || target === undefined) return [];
  const direct = buildApiService(deployment, names.directService(name), target);
  const api = workloads.find(({ metadata }) => metadata.name === names.apiWorkload(target));
  const port = ports.gateway;
  if (port === undefined || (!isAsleep && getAvailableReplicas(api) > 0)) return [direct];
  const slices = listGatewayEndpoints(gateways).map(({ addressType, addresses }): KubeObject => {
    const metadata = buildAppliedMetadata(
      deployment,
      'agent',
      names.gatewaySlice(name, addressType),
    );
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        ...metadata,
        ...(namespace !== undefined && { namespace }),
        labels: { ...metadata.labels, [OF_SERVICE]: names.service(name), [WRITTEN_BY]: OPERATOR },
      },
      addressType,
      endpoints: addresses.map((address) => ({
        addresses: [address],
        conditions: { ready: true },
      })),
      ports: [{ name: 'http', port, protocol: 'TCP' }],
    };
  });
  return [direct, ...slices];
}
