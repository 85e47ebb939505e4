import { buildAgentProxyVariables } from '../../objects/proxy-variables.ts';
import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { type RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import { buildOwnerReference } from '../../../schema/platform/objects/object-meta.ts';
import {
  BEGAN_WITH,
  DATABASE_ADDRESS,
  DEPLOYMENT,
  METRICS_PORT,
  buildManagedLabels,
  REVISION,
  buildPodSelector,
} from '../../../schema/platform/objects/labels.ts';
import { AGENT_CONTAINER, AGENT_PORTS, METRICS_PORT_NAME, names } from '../../../schema/names.ts';
import { pickRoleMetadata } from '../../../schema/platform/objects/object-keys.ts';
import { buildAddressStamp } from '../../database/address.ts';
import type { WorkloadComponent } from '../../rollout/replicas.ts';
import { type WorkloadWish, buildContainerResources } from './sizes.ts';
import { buildImageUser } from '../../objects/user-of-image.ts';
import { resolveAgentPlace, buildPlacementFields } from '../../objects/placed.ts';
import { pullSecrets } from '../../objects/pull-secrets.ts';
import { buildAddressFields, OWN_FOLDER } from './addressed.ts';
import { buildGuardFields } from './guarded.ts';
import {
  isNativeSidecar,
  buildNativeSidecar,
  buildUserContainer,
  dropNullFields,
  RESTRICTED,
} from './containers.ts';
import { countConnectionsPerPod } from '../../rollout/connections.ts';

export const getWorkloadName = (revision: string, component: WorkloadComponent): string =>
  component === 'api' ? names.apiWorkload(revision) : names.queueWorkload(revision);

/** Returns one half of a revision's pair: the workload (apps/v1 Deployment) of its api or its queue pods. */
export function buildWorkload(
  revision: RevisionResource,
  wish: WorkloadWish,
  settings: OperatorSettings,
): KubeObject {
  const { metadata, spec } = revision;
  const ofPods = pickRoleMetadata(spec.template.resourceSpec, 'pods', settings.objectKeys);
  const others = pickRoleMetadata(spec.template.resourceSpec, 'others');
  const own = buildManagedLabels(spec.deployment, wish.component, metadata.name);
  const origin = { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: getWorkloadName(metadata.name, wish.component),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { ...others.labels, ...own },
      annotations: {
        ...others.annotations,
        ...origin,
        ...(wish.beganWith !== undefined && { [BEGAN_WITH]: String(wish.beganWith) }),
      },
      ownerReferences: [buildOwnerReference('Revision', metadata)],
    },
    spec: {
      ...(wish.replicas !== undefined && { replicas: wish.replicas }),
      revisionHistoryLimit: 1,
      progressDeadlineSeconds: settings.progressDeadlineSeconds,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: buildPodSelector(spec.deployment, wish.component, metadata.name) },
      template: {
        metadata: {
          labels: { ...ofPods.labels, ...own },
          annotations: {
            ...ofPods.annotations,
            ...origin,
            [METRICS_PORT]: String(AGENT_PORTS.metrics),
            [DATABASE_ADDRESS]: buildAddressStamp(wish.address),
          },
        },
        spec: buildAgentPodSpec(revision, wish, settings),
      },
    },
  };
}

/** User and group of the agent server's image. */
const AGENT_ID = 10001;
/** Seconds that a pod gets beyond the server's own grace period, to hand back its runs and close. */
const GRACE_BEYOND_DRAIN = 30;

/** Returns the pod of an api or queue workload: restricted security, and all that the resource spec asks for. */
export function buildAgentPodSpec(
  revision: RevisionResource,
  wish: WorkloadWish,
  settings: OperatorSettings,
): object {
  const spec = revision.spec.template.resourceSpec ?? {};
  const sidecars = spec.sidecars ?? [];
  const registry = revision.spec.source === 'git' ? settings.builder?.pullSecretName : undefined;
  const pulls = registry === undefined ? spec.imagePullSecrets : [{ name: registry }];
  const init = [...(spec.initContainers ?? []), ...sidecars.filter(isNativeSidecar)];
  return {
    automountServiceAccountToken: spec.automountServiceAccountToken === true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: settings.drainSeconds + GRACE_BEYOND_DRAIN,
    ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
    ...pullSecrets(pulls, settings, {
      namespace: revision.metadata.namespace,
      name: spec.serviceAccountName,
    }),
    ...buildPlacementFields(
      resolveAgentPlace(revision, settings),
      buildPodSelector(revision.spec.deployment, wish.component, revision.metadata.name),
    ),
    securityContext: {
      runAsNonRoot: true,
      ...buildImageUser(AGENT_ID, settings),
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(init.length > 0 && {
      initContainers: init.map((each) =>
        isNativeSidecar(each)
          ? buildNativeSidecar(each, settings)
          : buildUserContainer(each, settings),
      ),
    }),
    containers: [
      buildMainContainer(revision, wish, settings),
      ...sidecars
        .filter((sidecar) => !isNativeSidecar(sidecar))
        .map((sidecar) => buildUserContainer(sidecar, settings)),
    ],
    volumes: [
      { name: OWN_FOLDER, emptyDir: {} },
      ...buildAddressFields(wish.address).volumes,
      ...buildGuardFields(revision, wish, settings).volumes,
      ...(spec.volumes ?? []).map(dropNullFields),
    ],
  };
}

const { http: PORT } = AGENT_PORTS;
/**
 * Seconds for which the Service still sends requests to a pod that is ending, because nodes learn of it late (the
 * control plane uses the same time).
 */
const FAREWELL = 5;

function buildMainContainer(
  revision: RevisionResource,
  wish: WorkloadWish,
  settings: OperatorSettings,
): object {
  const spec = revision.spec.template.resourceSpec ?? {};
  return {
    name: AGENT_CONTAINER,
    image: wish.image,
    imagePullPolicy: settings.imagePullPolicy,
    ports: [
      { name: 'http', containerPort: PORT, protocol: 'TCP' },
      { name: METRICS_PORT_NAME, containerPort: AGENT_PORTS.metrics, protocol: 'TCP' },
    ],
    env: buildEnvironment(revision, wish, settings),
    ...(wish.secretName !== undefined && { envFrom: [{ secretRef: { name: wish.secretName } }] }),
    resources: buildContainerResources(revision, wish.component, settings),
    securityContext: { ...RESTRICTED, readOnlyRootFilesystem: true },
    ...probes,
    lifecycle,
    volumeMounts: [
      { name: OWN_FOLDER, mountPath: '/tmp' },
      ...buildAddressFields(wish.address).mounts,
      ...buildGuardFields(revision, wish, settings).mounts,
      ...(spec.volumeMounts ?? []).map(dropNullFields),
    ],
  };
}

/**
 * Returns the explicit variables, which win over the user's secrets. A secret can move the server to another database
 * only by POSTGRES_URI_CUSTOM, which is for that.
 */
function buildEnvironment(
  revision: RevisionResource,
  { component, address, connections, deploymentId, budgets = [], pin = 'None' }: WorkloadWish,
  settings: OperatorSettings,
): object[] {
  const { metadata, spec } = revision;
  const buildVariable = (name: string, value: string | number): object => ({
    name,
    value: String(value),
  });
  return [
    ...buildAddressFields(address).variables,
    ...buildGuardFields(revision, { deploymentId }, settings).variables,
    buildVariable('GX_DEPLOYMENT', spec.deployment),
    buildVariable('GX_REVISION', metadata.name),
    ...(pin === 'None' ? [] : [buildVariable('GX_PIN', pin)]),
    ...(budgets.length === 0 ? [] : [buildVariable('GX_BUDGETS', JSON.stringify(budgets))]),
    buildVariable('GX_SERVER_PORT', PORT),
    buildVariable('GX_METRICS_PORT', AGENT_PORTS.metrics),
    buildVariable(
      'GX_POSTGRES_MAX_CONNECTIONS',
      countConnectionsPerPod(revision, settings, { max: connections, keepsWork: pin !== 'None' }),
    ),
    // These variables have both names, because the server reads the first one that is set.
    buildVariable('GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS', settings.drainSeconds),
    buildVariable('BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS', settings.drainSeconds),
    ...storeVariables(revision),
    ...(settings.trustedProxies.length > 0
      ? [buildVariable('GX_TRUSTED_PROXIES', settings.trustedProxies.join(','))]
      : []),
    ...Object.entries(buildAgentProxyVariables(settings.proxies)).flatMap(([name, value]) =>
      value === undefined ? [] : [buildVariable(name, value)],
    ),
    ...buildTracingVariables(revision, deploymentId, settings),
    // Queue pods keep the server's default, which a secret may change.
    ...(component === 'api'
      ? [
          buildVariable('GX_SHUTDOWN_DELAY_SECONDS', FAREWELL),
          buildVariable('GX_JOBS_PER_WORKER', 0),
          buildVariable('N_JOBS_PER_WORKER', 0),
        ]
      : []),
  ];
}

/** Returns where the key-value store of streams is, if the revision asks for one. Without its Secret, streams go on. */
function storeVariables({ spec }: RevisionResource): object[] {
  if ((spec.template.resourceSpec?.redisMemoryMb ?? undefined) === undefined) return [];
  const secretKeyRef = { name: names.storeSecret(spec.deployment), key: 'uri', optional: true };
  return [{ name: 'GX_REDIS_URI', valueFrom: { secretKeyRef } }];
}

const buildProbe = (path: string): object => ({ httpGet: { path, port: 'http', scheme: 'HTTP' } });

/**
 * A start is asked after each second, because somebody may wait for it. A pod is ready while queue and database answer,
 * and alive while the process does, so that a lost database restarts nothing.
 */
const probes = {
  startupProbe: {
    ...buildProbe('/ok?check_db=0'),
    periodSeconds: 1,
    timeoutSeconds: 3,
    failureThreshold: 300,
  },
  readinessProbe: {
    ...buildProbe('/ok'),
    periodSeconds: 5,
    timeoutSeconds: 5,
    failureThreshold: 3,
  },
  livenessProbe: {
    ...buildProbe('/ok?check_db=0'),
    periodSeconds: 15,
    timeoutSeconds: 10,
    failureThreshold: 4,
  },
};

/**
 * A signal is lost that comes before the first process of a container asks for it, and the pod would stay for its whole
 * grace period. So one that is stopped in the moment of its start gets its signal a second later.
 */
const lifecycle = { preStop: { sleep: { seconds: 1 } } };

/** The key of the headers' Secret. */
const HEADERS = 'headers';

/**
 * Returns OpenTelemetry's environment of an agent: where its traces go, and the tracing project they belong to. It is
 * empty without a collector.
 */
function buildTracingVariables(
  { metadata, spec }: RevisionResource,
  deploymentId: string,
  { otlp }: OperatorSettings,
): object[] {
  if (otlp === undefined) return [];
  const attributes = {
    // This project is created with the deployment, under its name.
    'gx.tracing_project': spec.deployment,
    'gx.deployment': spec.deployment,
    'gx.deployment_id': deploymentId,
    'gx.revision': metadata.name,
    ...(metadata.uid !== undefined && { 'gx.revision_id': metadata.uid }),
    ...(metadata.namespace !== undefined && { 'service.namespace': metadata.namespace }),
  };
  // Kubernetes names need none of the format's escapes.
  const pairs = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  const { headersSecret: secret } = otlp;
  // A collector's missing credential must not keep an agent from starting.
  const buildHeaderReference = (name: string): object => ({
    secretKeyRef: { name, key: HEADERS, optional: true },
  });
  return [
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: otlp.endpoint },
    { name: 'OTEL_EXPORTER_OTLP_PROTOCOL', value: 'http/protobuf' },
    ...(secret === undefined
      ? []
      : [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: buildHeaderReference(secret) }]),
    { name: 'OTEL_SERVICE_NAME', value: spec.deployment },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: pairs.join(',') },
  ];
}
