import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { names } from '../../../schema/names.ts';
import { appliedMetadata } from '../../objects/metadata.ts';
import { isStripped, type RoutePlan } from './plan.ts';

/** The port of the Service that clients reach. */
const SERVICE_PORT = 80;

/** Returns the route of a deployment: one object, or none if it has no host or the cluster has no such kind. */
export function routeObjects(deployment: DeploymentResource, plan: RoutePlan | undefined, mountPrefix: string): KubeObject[] {
  if (plan === undefined || plan.isKindMissing || plan.hosts.length === 0) return [];
  return [plan.settings.kind === 'Ingress' ? ingress(deployment, plan) : httpRoute(deployment, plan, mountPrefix)];
}

function metadataOf(deployment: DeploymentResource, { settings, path }: RoutePlan): KubeObject['metadata'] {
  const installed = Object.entries({ ...settings.annotations, ...settings.tls?.annotations });
  // Some annotations name the path, which each deployment may choose.
  const annotations = Object.fromEntries(installed.map(([key, value]) => [key, value.replaceAll('{path}', path)]));
  const metadata = appliedMetadata(deployment, 'agent', names.route(deployment.metadata.name));
  // The words of the installation decide about DNS and certificates. Those of a deployment go behind them.
  return {
    ...metadata,
    labels: { ...metadata.labels, ...settings.labels, ...ownOf(metadata.labels) },
    annotations: { ...metadata.annotations, ...annotations, ...ownOf(metadata.annotations) },
  };
}

/** Returns the labels or annotations by which the operator finds its objects. Nothing takes their place. */
const ownOf = (words: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(words).filter(([key]) => key.startsWith('gx.dev/') || key.startsWith('app.kubernetes.io/')));

function httpRoute(deployment: DeploymentResource, plan: RoutePlan, mountPrefix: string): KubeObject {
  const { settings, hosts, path } = plan;
  const filters = isStripped(path, mountPrefix) ? { filters: stripping(path) } : {};
  const timeouts = unlimited(plan);
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: metadataOf(deployment, plan),
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
function unlimited({ settings: { timeouts }, parentFeatures }: RoutePlan): { request?: string; backendRequest?: string } {
  if (timeouts === 'never') return {};
  if (timeouts === 'always' || parentFeatures === undefined) return { request: NONE };
  return {
    ...(parentFeatures.has('HTTPRouteRequestTimeout') && { request: NONE }),
    ...(parentFeatures.has('HTTPRouteBackendTimeout') && { backendRequest: NONE }),
  };
}

/** Takes the path from a request, and tells the server of it. */
const stripping = (path: string): object[] => [
  { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'X-Forwarded-Prefix', value: path }] } },
  { type: 'URLRewrite', urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } } },
];

function ingress(deployment: DeploymentResource, plan: RoutePlan): KubeObject {
  const { settings, hosts, path } = plan;
  const { name } = deployment.metadata;
  const backend = { service: { name: names.service(name), port: { number: SERVICE_PORT } } };
  const secretName = settings.tls?.secretName ?? names.routeTls(name);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadataOf(deployment, plan),
    spec: {
      ...(settings.className !== undefined && { ingressClassName: settings.className }),
      ...(settings.tls !== undefined && { tls: [{ hosts, secretName }] }),
      rules: hosts.map((host) => ({ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } })),
    },
  };
}
