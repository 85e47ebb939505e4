import type { OperatorSettings } from '../../../config/operator.ts';
import type { RevisionResource } from '../../../schema/platform/custom-resources.ts';
import { AGENT_CONTAINER, names } from '../../../schema/names.ts';
import { connectionsPerPod } from '../../rollout/connections.ts';
import { addressed, OWN_FOLDER } from './addressed.ts';
import { guarded } from './guarded.ts';
import { RESTRICTED, withoutNulls } from './containers.ts';
import { resources, type WorkloadWish } from './sizes.ts';

const PORT = 8000;
/**
 * Seconds for which the Service still sends requests to a pod that is ending, because nodes learn of it late (the
 * control plane uses the same time).
 */
const FAREWELL = 5;

export function mainContainer(revision: RevisionResource, wish: WorkloadWish, settings: OperatorSettings): object {
  const spec = revision.spec.template.resourceSpec ?? {};
  return {
    name: AGENT_CONTAINER,
    image: wish.image,
    imagePullPolicy: settings.imagePullPolicy,
    ports: [{ name: 'http', containerPort: PORT, protocol: 'TCP' }],
    env: environment(revision, wish, settings),
    ...(wish.secretName !== undefined && { envFrom: [{ secretRef: { name: wish.secretName } }] }),
    resources: resources(revision, wish.component, settings),
    securityContext: { ...RESTRICTED, readOnlyRootFilesystem: true },
    ...probes,
    lifecycle,
    volumeMounts: [
      { name: OWN_FOLDER, mountPath: '/tmp' },
      ...addressed(wish.address).mounts,
      ...guarded(revision, wish, settings).mounts,
      ...(spec.volumeMounts ?? []).map(withoutNulls),
    ],
  };
}

/**
 * Returns the explicit variables, which win over the user's secrets. A secret can move the server to another database
 * only by POSTGRES_URI_CUSTOM, which is for that.
 */
function environment(
  revision: RevisionResource,
  { component, address, connections, deploymentId, pin = 'None' }: WorkloadWish,
  settings: OperatorSettings,
): object[] {
  const { metadata, spec } = revision;
  const text = (name: string, value: string | number): object => ({ name, value: String(value) });
  return [
    ...addressed(address).variables,
    ...guarded(revision, { deploymentId }, settings).variables,
    text('GX_DEPLOYMENT', spec.deployment),
    text('GX_REVISION', metadata.name),
    ...(pin === 'None' ? [] : [text('GX_PIN', pin)]),
    text('GX_SERVER_PORT', PORT),
    text('GX_POSTGRES_MAX_CONNECTIONS', connectionsPerPod(revision, settings, { max: connections, keepsWork: pin !== 'None' })),
    // These variables have both names, because the server reads the first one that is set.
    text('GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS', settings.drainSeconds),
    text('BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS', settings.drainSeconds),
    ...storeVariables(revision),
    ...(settings.trustedProxies.length > 0 ? [text('GX_TRUSTED_PROXIES', settings.trustedProxies.join(','))] : []),
    ...tracingEnvironment(revision, deploymentId, settings),
    // Queue pods keep the server's default, which a secret may change.
    ...(component === 'api'
      ? [text('GX_SHUTDOWN_DELAY_SECONDS', FAREWELL), text('GX_JOBS_PER_WORKER', 0), text('N_JOBS_PER_WORKER', 0)]
      : []),
  ];
}

/** Returns where the key-value store of streams is, if the revision asks for one. Without its Secret, streams go on. */
function storeVariables({ spec }: RevisionResource): object[] {
  if ((spec.template.resourceSpec?.redisMemoryMb ?? undefined) === undefined) return [];
  const secretKeyRef = { name: names.storeSecret(spec.deployment), key: 'uri', optional: true };
  return [{ name: 'GX_REDIS_URI', valueFrom: { secretKeyRef } }];
}

const ok = (path: string): object => ({ httpGet: { path, port: 'http', scheme: 'HTTP' } });

/**
 * A start is asked after each second, because somebody may wait for it. A pod is ready while queue and database answer,
 * and alive while the process does, so that a lost database restarts nothing.
 */
const probes = {
  startupProbe: { ...ok('/ok?check_db=0'), periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 300 },
  readinessProbe: { ...ok('/ok'), periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
  livenessProbe: { ...ok('/ok?check_db=0'), periodSeconds: 15, timeoutSeconds: 10, failureThreshold: 4 },
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
function tracingEnvironment({ metadata, spec }: RevisionResource, deploymentId: string, { otlp }: OperatorSettings): object[] {
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
  const reference = (name: string): object => ({ secretKeyRef: { name, key: HEADERS, optional: true } });
  return [
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: otlp.endpoint },
    { name: 'OTEL_EXPORTER_OTLP_PROTOCOL', value: 'http/protobuf' },
    ...(secret === undefined ? [] : [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: reference(secret) }]),
    { name: 'OTEL_SERVICE_NAME', value: spec.deployment },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: pairs.join(',') },
  ];
}
