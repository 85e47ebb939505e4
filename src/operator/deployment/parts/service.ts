import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { NODE_PORT, selectorOf } from '../../../schema/platform/labels.ts';
import { names } from '../../../schema/names.ts';
import { wordsFor } from '../../../schema/platform/object-keys.ts';
import { disruptionBudget } from '../../objects/disruption-budget.ts';
import { appliedMetadata, withWords } from '../../objects/metadata.ts';
import { agentPolicy } from '../../objects/network-policies.ts';
import { replicasAllowed } from '../../rollout/replicas.ts';
import { revisionIn } from '../../rollout/revisions.ts';
import type { Part } from '../part.ts';
import { reachedOutside } from './route.ts';

/** The Service of the agents, their network policy, and the budget that guards them from drains. */
export const service: Part = {
  desired: ({ deployment, settings, target, apiServer, service: live, ports, rollout }) => [
    ...agentPolicy(deployment, settings, [...settings.agentNetwork.apiServer, ...apiServer]),
    agentService(deployment, settings, { active: target, nodePort: live === undefined ? ports.node : undefined }),
    ...candidateService(deployment, rollout.status?.candidate?.revision),
    ...agentBudget(deployment, settings, target),
  ],
  report(facts) {
    const { deployment, settings, service: live, revisions, active } = facts;
    const mountPrefix = revisionIn(revisions, active)?.status?.mountPrefix;
    return { status: { url: urlOf(deployment, settings, { service: live, mountPrefix, outside: reachedOutside(facts) }) } };
  },
};

export const SERVICE_PORT = 80;

/** The label that no revision has. The Service selects it while nothing serves. */
const NOBODY = 'none';

/**
 * Returns the Service that clients of the agent reach. It selects the api pods of the active revision, and nothing
 * while there is none. Made again, it asks for the node port that it had, unless an annotation names another.
 */
export function agentService(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { active, nodePort: kept }: { active?: string | undefined; nodePort?: number | undefined },
): KubeObject {
  const { name, annotations } = deployment.metadata;
  const nodePort = Number(annotations?.[NODE_PORT] ?? kept);
  const isNodePort = settings.exposeAs === 'NodePort';
  const metadata = appliedMetadata(deployment, 'agent', names.service(name));
  const words = wordsFor(deployment.spec.template.resourceSpec, 'services', settings.objectKeys);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: withWords(metadata, words),
    spec: {
      type: settings.exposeAs,
      // A cluster of one family gives one address of that family.
      ipFamilyPolicy: 'PreferDualStack',
      selector: selectorOf(name, 'api', active ?? NOBODY),
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
export const apiService = (deployment: DeploymentResource, name: string, revision: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: appliedMetadata(deployment, 'agent', name),
  spec: {
    type: 'ClusterIP',
    ipFamilyPolicy: 'PreferDualStack',
    selector: selectorOf(deployment.metadata.name, 'api', revision),
    ports: [{ name: 'http', port: SERVICE_PORT, targetPort: 'http', protocol: 'TCP' }],
  },
});

/** Returns the Service of the revision that is tried out, while there is one. */
const candidateService = (deployment: DeploymentResource, candidate: string | undefined): KubeObject[] =>
  candidate === undefined ? [] : [apiService(deployment, names.candidateService(deployment.metadata.name), candidate)];

/** Returns the node port that the Service has. */
export const nodePortOf = (live: KubeObject | undefined): number | undefined =>
  (live?.spec as { type?: string; ports?: { nodePort?: number }[] } | undefined)?.ports?.[0]?.nodePort;

type Reached = { service: KubeObject | undefined; mountPrefix?: string | undefined; outside?: string | undefined };

/**
 * Returns where the agent answers: the user's own address, else that of its route, else the node port, else the name
 * inside the cluster. The last two are followed by the prefix of the server's paths, which the route's contains.
 */
export function urlOf(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { service: live, mountPrefix = '', outside }: Reached,
): string {
  return deployment.spec.sourceConfig?.customUrl ?? outside ?? addressOfAgent(deployment, settings, live) + mountPrefix;
}

function addressOfAgent({ metadata }: DeploymentResource, settings: OperatorSettings, live: KubeObject | undefined): string {
  const { name, namespace } = metadata;
  const nodePort = nodePortOf(live);
  if (settings.exposeAs === 'NodePort' && settings.nodeHost !== undefined && nodePort !== undefined) {
    return `http://${settings.nodeHost}:${nodePort}`;
  }
  return `http://${names.service(name)}.${namespace}.svc.${settings.clusterDomain}`;
}

/**
 * Returns the budget by which a drain evicts the serving api pods one at a time. It evicts a single one at once, so
 * that no drain waits forever. Queue pods need no budget, because one that leaves finishes its runs or hands them over.
 */
function agentBudget(deployment: DeploymentResource, settings: OperatorSettings, active: string | undefined): KubeObject[] {
  if (active === undefined || replicasAllowed(deployment, 'api', settings) < 2) return [];
  const { name } = deployment.metadata;
  const selector = selectorOf(name, 'api', active);
  return [disruptionBudget(deployment, { component: 'agent', name: names.agentBudget(name), selector, maxUnavailable: 1 })];
}
