import type {
  BackupResource,
  DeploymentResource,
  GitIntegrationResource,
  ListenerResource,
  RevisionResource,
  TracingProjectResource,
} from '../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../schema/platform/objects/api-group.ts';
import { PLURALS } from '../schema/platform/objects/kind-names.ts';
import type {
  ConfigMapObject,
  Kind,
  KubeObject,
  LeaseObject,
  SecretObject,
  ServiceAccountObject,
} from './kube.ts';

const buildKind = <T extends KubeObject = KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced = true,
): Kind<T> => ({
  apiVersion,
  kind,
  plural,
  namespaced,
});

const buildCustomKind = <T extends KubeObject>(kind: keyof typeof PLURALS): Kind<T> =>
  buildKind<T>(API_VERSION, kind, PLURALS[kind]);

/** The kinds that the platform reads or writes. */
export const kinds = {
  deployment: buildCustomKind<DeploymentResource>('Deployment'),
  revision: buildCustomKind<RevisionResource>('Revision'),
  backup: buildCustomKind<BackupResource>('Backup'),
  listener: buildCustomKind<ListenerResource>('Listener'),
  tracingProject: buildCustomKind<TracingProjectResource>('TracingProject'),
  gitIntegration: buildCustomKind<GitIntegrationResource>('GitIntegration'),
  workload: buildKind('apps/v1', 'Deployment', 'deployments'),
  statefulSet: buildKind('apps/v1', 'StatefulSet', 'statefulsets'),
  service: buildKind('v1', 'Service', 'services'),
  secret: buildKind<SecretObject>('v1', 'Secret', 'secrets'),
  configMap: buildKind<ConfigMapObject>('v1', 'ConfigMap', 'configmaps'),
  job: buildKind('batch/v1', 'Job', 'jobs'),
  pod: buildKind('v1', 'Pod', 'pods'),
  volumeClaim: buildKind('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  namespace: buildKind('v1', 'Namespace', 'namespaces', false),
  node: buildKind('v1', 'Node', 'nodes', false),
  serviceAccount: buildKind<ServiceAccountObject>('v1', 'ServiceAccount', 'serviceaccounts'),
  lease: buildKind<LeaseObject>('coordination.k8s.io/v1', 'Lease', 'leases'),
  event: buildKind('events.k8s.io/v1', 'Event', 'events'),
  networkPolicy: buildKind('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  ingress: buildKind('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  gateway: buildKind('gateway.networking.k8s.io/v1', 'Gateway', 'gateways'),
  gatewayClass: buildKind('gateway.networking.k8s.io/v1', 'GatewayClass', 'gatewayclasses', false),
  httpRoute: buildKind('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes'),
  endpointSlice: buildKind('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  disruptionBudget: buildKind('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  autoscaler: buildKind('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  customResourceDefinition: buildKind(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    false,
  ),
} as const;
