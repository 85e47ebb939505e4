import { networkInterfaces } from 'node:os';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import type { DeploymentSpec } from '../../src/schema/platform/resources/custom-resources.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { startApiServer } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { freshDatabase } from '../kit/postgres.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* An API server of its own whose Services all lead to one agent server of this machine, for controllers beside it. */

export type RouteStage = Stage & {
  agent: AgentProcess;
  /** The address of the agent server without any route. */
  direct: string;
  deploy(name: string, route?: DeploymentSpec['route']): Promise<void>;
  conditionOf(name: string, type: string): Promise<Condition | undefined>;
  /** Waits until the condition Routed has the reason, and returns the address of the deployment. */
  untilRouted(name: string, reason: string): Promise<string>;
  /** Makes a route of another host that is the same but for its time limits. Returns its address. */
  copyWithoutLimits(name: string, host: string): Promise<string>;
};

type HttpRoute = KubeObject & { spec: { rules: { timeouts?: object }[] } };

export async function openRouteStage(name: string): Promise<RouteStage> {
  const host = ownAddress();
  const database = await freshDatabase();
  const env = { GX_TRUSTED_PROXIES: host, GX_SERVER_HOST: '0.0.0.0', GX_LOG_LEVEL: 'error' };
  const agent = await startAgent({ database: database.uri, env });
  const port = Number(new URL(agent.url).port);
  const server = await startApiServer();
  const stage = await openStage(name, server.kubeconfig);
  stage.startKubelet();
  const { kube, namespace, see } = stage;
  const conditionOf: RouteStage['conditionOf'] = async (one, type) =>
    (await see.deployment(one)).status?.conditions?.find((condition) => condition.type === type);
  return {
    ...stage,
    agent,
    direct: `http://${host}:${port}`,
    conditionOf,
    deploy: async (one, route) => {
      await kube.create(
        kinds.deployment,
        newDeployment(namespace, { metadata: { name: one }, ...(route && { spec: { route } }) }),
      );
      await see.untilReady(one);
      await kube.create(kinds.endpointSlice, endpoints(namespace, `${one}-agent`, { host, port }));
    },
    untilRouted: async (one, reason) => {
      await until(
        `Routed of ${one} is ${reason}`,
        async () => (await conditionOf(one, 'Routed'))?.reason === reason,
        60,
      );
      return until('its address is that of the route', async () => {
        const { url } = (await see.deployment(one)).status ?? {};
        return url?.startsWith('https://') === true && url;
      });
    },
    copyWithoutLimits: async (one, other) => {
      const { spec, ...route } = (await kube.get(kinds.httpRoute, {
        namespace,
        name: `${one}-route`,
      })) as HttpRoute;
      const rules = spec.rules.map((rule) => ({ ...rule, timeouts: undefined }));
      const metadata = { name: other.split('.')[0]!, namespace };
      await kube.create(kinds.httpRoute, {
        ...route,
        metadata,
        spec: { ...spec, hostnames: [other], rules },
      });
      return `https://${other}`;
    },
    stop: async () => {
      await stage.stop();
      await server.stop();
      await agent.kill();
      await database.drop();
    },
  };
}

/** Returns the endpoints that Kubernetes' own controller would write, had the pods of the tests a node. */
const endpoints = (
  namespace: string,
  service: string,
  { host, port }: { host: string; port: number },
): KubeObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: `${service}-here`,
    namespace,
    labels: { 'kubernetes.io/service-name': service },
  },
  addressType: 'IPv4',
  ports: [{ name: 'http', port, protocol: 'TCP' }],
  endpoints: [{ addresses: [host], conditions: { ready: true } }],
});

/** Returns an address of this machine that others can reach: the API server takes no other one for a pod. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined)
    throw new Error('This machine has no address besides those of itself, and pods need one.');
  return found.address;
}
