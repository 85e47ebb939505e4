import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { NODE_PORT, buildPodSelector } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { pickRoleMetadata } from '../../../schema/platform/objects/object-keys.ts';
import { buildDisruptionBudget } from '../../objects/disruption-budget.ts';
import { buildAppliedMetadata, addLabels } from '../../objects/metadata.ts';
import { buildAgentPolicy } from '../../objects/network-policies.ts';
import { resolveMaxReplicas } from '../../rollout/replicas.ts';
import { findRevisionByName } from '../../rollout/revisions.ts';
import type { Part } from '../part.ts';
import { findOutsideAddress } from './route.ts';

/** The Service of the agents, their network policy, and the budget that guards them from drains. */
export const service: Part = {
  desired: ({ deployment, settings, target, apiServer, service: live, ports, rollout }) => [
    ...buildAgentPolicy(deployment, settings, [...settings.agentNetwork.apiServer, ...apiServer]),
    buildAgentService(deployment, settings, {
      active: target,
      nodePort: live === undefined ? ports.node : undefined,
    }),
    ...buildCandidateService(deployment, rollout.status?.candidate?.revision),
    ...buildAgentBudget(deployment, settings, target),
  ],
  report(facts) {
    const { deployment, settings, service: live, revisions, active } = facts;
    const mountPrefix = findRevisionByName(revisions, active)?.status?.mountPrefix;
    return {
      status: {
        url: buildAgentUrl(deployment, settings, {
          service: live,
          mountPrefix,
          outside: findOutsideAddress(facts),
        }),
      },
    };
  },
};

export const SERVICE_PORT = 80;

/** The label that no revision has. The Service selects it while nothing serves. */
const NOBODY = 'none';

/**
 * Returns the Service that clients of the agent reach. It selects the api pods of the active revision, and nothing
 * while there is none. Made again, it asks for the node port that it had, unless an annotation names another.
 */
export function buildAgentService(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { active, nodePort: kept }: { active?: string | undefined; nodePort?: number | undefined },
): KubeObject {
  const { name, annotations } = deployment.metadata;
  const nodePort = Number(annotations?.[NODE_PORT] ?? kept);
  const isNodePort = settings.exposeAs === 'NodePort';
  const metadata = buildAppliedMetadata(deployment, 'agent', names.service(name));
  const words = pickRoleMetadata(
    deployment.spec.template.resourceSpec,
    'services',
    settings.objectKeys,
  );
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: addLabels(metadata, words),
    spec: {
      type: settings.exposeAs,
      // A cluster of one family gives one address of that family.
      ipFamilyPolicy: 'PreferDualStack',
      selector: buildPodSelector(name, 'api', active ?? NOBODY),
      ports: [
        {
          name: 'http',
          port: SERVICE_PORT,
          targetPort: 'http',
          protocol: 'TCP',
          ...(isNodePort && Number.isInteger(nodePort) && nodePort > 0 && { nodePort }),
        },
      ],
    },
  };
}

/** Returns a Service that leads to the api pods of this revision, inside the cluster alone. */
export const buildApiService = (
  deployment: DeploymentResource,
  name: string,
  revision: string,
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: buildAppliedMetadata(deployment, 'agent', name),
  spec: {
    type: 'ClusterIP',
    ipFamilyPolicy: 'PreferDualStack',
    selector: buildPodSelector(deployment.metadata.name, 'api', revision),
    ports: [{ name: 'http', port: SERVICE_PORT, targetPort: 'http', protocol: 'TCP' }],
  },
});

/** Returns the Service of the revision that is tried out, while there is one. */
const buildCandidateService = (
  deployment: DeploymentResource,
  candidate: string | undefined,
): KubeObject[] =>
  candidate === undefined
    ? []
    : [buildApiService(deployment, names.candidateService(deployment.metadata.name), candidate)];

/** Returns the node port that the Service has. */
export const getNodePort = (live: KubeObject | undefined): number | undefined =>
  (live?.spec as { type?: string; ports?: { nodePort?: number }[] } | undefined)?.ports?.[0]
    ?.nodePort;

/**
 * Returns where the agent answers: the user's own address, else that of its route, else the node port, else the name
 * inside the cluster. The last two are followed by the prefix of the server's paths, which the route's contains.
 */
export function buildAgentUrl(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  {
    service: live,
    mountPrefix = '',
    outside,
  }: {
    service: KubeObject | undefined;
    mountPrefix?: string | undefined;
    outside?: string | undefined;
  },
): string {
  return (
    deployment.spec.sourceConfig?.customUrl ??
    outside ??
    buildAgentAddress(deployment, settings, live) + mountPrefix
  );
}

function buildAgentAddress(
  { metadata }: DeploymentResource,
  settings: OperatorSettings,
  live: KubeObject | undefined,
): string {
  const { name, namespace } = metadata;
  const nodePort = getNodePort(live);
  if (
    settings.exposeAs === 'NodePort' &&
    settings.nodeHost !== undefined &&
    nodePort !== undefined
  ) {
    return `http://${settings.nodeHost}:${nodePort}`;
  }
  return `http://${names.service(name)}.${namespace}.svc.${settings.clusterDomain}`;
}

/**
 * Returns the budget by which a drain evicts the serving api pods one at a time. It evicts a single one at once, so
 * that no drain waits forever. Queue pods need no budget, because one that leaves finishes its runs or hands them over.
 */
function buildAgentBudget(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  active: string | undefined,
): KubeObject[] {
  if (active === undefined || resolveMaxReplicas(deployment, 'api', settings) < 2) return [];
  const { name } = deployment.metadata;
  const selector = buildPodSelector(name, 'api', active);
  return [buildDisruptionBudget(deployment, 'agent', names.agentBudget(name), selector, 1)];
}
