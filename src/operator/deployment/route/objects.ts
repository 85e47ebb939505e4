import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { names } from '../../../schema/names.ts';
import { buildAppliedMetadata } from '../../objects/metadata.ts';
import { isStripped, type RoutePlan } from './plan.ts';

/** The port of the Service that clients reach. */
const SERVICE_PORT = 80;

/** Returns the route of a deployment: one object, or none if it has no host or the cluster has no such kind. */
export function buildRouteObjects(
  deployment: DeploymentResource,
  plan: RoutePlan | undefined,
  mountPrefix: string,
): KubeObject[] {
  if (plan === undefined || plan.isKindMissing || plan.hosts.length === 0) return [];
  return [
    plan.settings.kind === 'Ingress'
      ? buildIngress(deployment, plan)
      : buildHttpRoute(deployment, plan, mountPrefix),
  ];
}

function buildMetadata(
  deployment: DeploymentResource,
  { settings, path }: RoutePlan,
): KubeObject['metadata'] {
  const installed = Object.entries({ ...settings.annotations, ...settings.tls?.annotations });
  // Some annotations name the path, which each deployment may choose.
  const annotations = Object.fromEntries(
    installed.map(([key, value]) => [key, value.replaceAll('{path}', path)]),
  );
  const metadata = buildAppliedMetadata(deployment, 'agent', names.route(deployment.metadata.name));
  // The words of the installation decide about DNS and certificates. Those of a deployment go behind them.
  return {
    ...metadata,
    labels: { ...metadata.labels, ...settings.labels, ...filterOwnKeys(metadata.labels) },
    annotations: {
      ...metadata.annotations,
      ...annotations,
      ...filterOwnKeys(metadata.annotations),
    },
  };
}

/** Returns the labels or annotations by which the operator finds its objects. Nothing takes their place. */
const filterOwnKeys = (words: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(words).filter(
      ([key]) => key.startsWith('gx.dev/') || key.startsWith('app.kubernetes.io/'),
    ),
  );

function buildHttpRoute(
  deployment: DeploymentResource,
  plan: RoutePlan,
  mountPrefix: string,
): KubeObject {
  const { settings, hosts, path } = plan;
  const filters = isStripped(path, mountPrefix) ? { filters: buildPathFilters(path) } : {};
  const timeouts = buildTimeouts(plan);
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: buildMetadata(deployment, plan),
    spec: {
      parentRefs: settings.parentRefs,
      hostnames: hosts,
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: path } }],
          ...filters,
          ...(Object.keys(timeouts).length > 0 && { timeouts }),
          backendRefs: [{ name: names.service(deployment.metadata.name), port: SERVICE_PORT }],
        },
      ],
    },
  };
}

const NONE = '0s';

/**
 * Returns the time limits of an HTTPRoute: none, because an answer lasts as long as its run. Controllers refuse or
 * ignore fields that they do not have. Those that do not name their features mostly have the first one.
 */
function buildTimeouts({ settings: { timeouts }, parentFeatures }: RoutePlan): {
  request?: string;
  backendRequest?: string;
} {
  if (timeouts === 'never') return {};
  if (timeouts === 'always' || parentFeatures === undefined) return { request: NONE };
  return {
    ...(parentFeatures.has('HTTPRouteRequestTimeout') && { request: NONE }),
    ...(parentFeatures.has('HTTPRouteBackendTimeout') && { backendRequest: NONE }),
  };
}

/** Takes the path from a request, and tells the server of it. */
const buildPathFilters = (path: string): object[] => [
  {
    type: 'RequestHeaderModifier',
    requestHeaderModifier: { set: [{ name: 'X-Forwarded-Prefix', value: path }] },
  },
  {
    type: 'URLRewrite',
    urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } },
  },
];

function buildIngress(deployment: DeploymentResource, plan: RoutePlan): KubeObject {
  const { settings, hosts, path } = plan;
  const { name } = deployment.metadata;
  const backend = { service: { name: names.service(name), port: { number: SERVICE_PORT } } };
  const secretName = settings.tls?.secretName ?? names.routeTls(name);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: buildMetadata(deployment, plan),
    spec: {
      ...(settings.className !== undefined && { ingressClassName: settings.className }),
      ...(settings.tls !== undefined && { tls: [{ hosts, secretName }] }),
      rules: hosts.map((host) => ({
        host,
        http: { paths: [{ path, pathType: 'Prefix', backend }] },
      })),
    },
  };
}
