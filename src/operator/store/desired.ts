import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  DEPLOYMENT,
  buildManagedLabels,
  buildPodSelector,
} from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { buildImageUser } from '../objects/user-of-image.ts';
import { buildAppliedMetadata } from '../objects/metadata.ts';
import { resolveInstalledPlace } from '../objects/placed.ts';
import { pullSecrets } from '../objects/pull-secrets.ts';
import { storePolicy } from '../objects/network-policies.ts';
import { formatMebibytes } from '../kernel/quantity.ts';
import { STORE_PORT } from './secret.ts';
import { settleTemplate, addTemplateHash } from '../pods/settled-template.ts';
import { isSetUp } from '../pods/workload-state.ts';
import type { WorkloadSpec } from '../objects/workload-spec.ts';

type StoreFacts = {
  deployment: DeploymentResource;
  settings: OperatorSettings;
  isAsleep: boolean;
  children: readonly KubeObject[];
};

/** User and group of the image. */
const STORE_ID = 10001;

/** Returns the memory that is asked for in Mi; undefined when the deployment gets no key-value store. */
export const storeMemory = ({ spec }: DeploymentResource): number | undefined =>
  spec.template.resourceSpec?.redisMemoryMb ?? undefined;

/**
 * Returns the objects of a deployment's key-value store, in the order in which they are made. It has no volume: its
 * data may be lost at any time.
 */
export function buildStoreObjects({
  deployment,
  settings,
  isAsleep,
  children,
}: StoreFacts): KubeObject[] {
  const memory = storeMemory(deployment);
  const replicas = deployment.spec.hibernate === true || isAsleep ? 0 : 1;
  if (memory === undefined) return [];
  const set = settleStoreSet(
    storeSet(deployment, settings, memory, replicas),
    storeAmong(children, deployment),
    deployment.status?.storeTemplate,
  );
  return [storeService(deployment), storePolicy(deployment, STORE_PORT), set];
}

/** Finds the set of a deployment's store. */
export const storeAmong = (
  objects: readonly KubeObject[],
  { metadata }: DeploymentResource,
): KubeObject | undefined =>
  objects.find(
    (object) =>
      object.kind === 'StatefulSet' && object.metadata.name === names.store(metadata.name),
  );

function storeService(deployment: DeploymentResource): KubeObject {
  const { name } = deployment.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: buildAppliedMetadata(deployment, 'store', names.store(name)),
    spec: {
      clusterIP: 'None',
      selector: buildPodSelector(name, 'store'),
      ports: [{ name: 'valkey', port: STORE_PORT, targetPort: 'valkey', protocol: 'TCP' }],
    },
  };
}

function storeSet(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  memory: number,
  replicas: number,
): KubeObject {
  const { name } = deployment.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: buildAppliedMetadata(deployment, 'store', names.store(name)),
    spec: {
      serviceName: names.store(name),
      replicas,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: buildPodSelector(name, 'store') },
      template: {
        metadata: {
          labels: buildManagedLabels(name, 'store'),
          annotations: { [DEPLOYMENT]: name },
        },
        spec: buildPodSpec(deployment, settings, memory),
      },
    },
  };
}

function buildPodSpec(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  memory: number,
): object {
  const { imagePullSecrets } = deployment.spec.template.resourceSpec ?? {};
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...pullSecrets(imagePullSecrets, settings, { namespace: deployment.metadata.namespace }),
    ...resolveInstalledPlace('stores', settings),
    // It has nothing to save.
    terminationGracePeriodSeconds: 5,
    securityContext: {
      runAsNonRoot: true,
      ...buildImageUser(STORE_ID, settings),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: 'valkey',
        image: settings.storeImage,
        imagePullPolicy: settings.imagePullPolicy,
        args: storeArguments(memory),
        env: [
          {
            name: 'VALKEY_PASSWORD',
            valueFrom: {
              secretKeyRef: { name: names.storeSecret(deployment.metadata.name), key: 'password' },
            },
          },
        ],
        ports: [{ name: 'valkey', containerPort: STORE_PORT, protocol: 'TCP' }],
        resources: {
          requests: { cpu: '50m', memory: formatMebibytes(memory) },
          limits: { memory: formatMebibytes(memory) },
        },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        // As for the database: its last lines say why it does not start.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        readinessProbe: { ...answers, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 3 },
        livenessProbe: { ...answers, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
      },
    ],
    volumes: [{ name: 'tmp', emptyDir: {} }],
  };
}

const answers = { tcpSocket: { port: 'valkey' } };

/** Mi that the process itself takes, and the share of the rest that its data takes. */
const PROCESS = 8;
const DATA_SHARE = 0.75;

/**
 * Returns how the store is started. Keys that expire first are evicted first, which are the streams of finished runs. A
 * reader's process that takes its messages too slowly loses its connection before its buffer fills the memory.
 */
function storeArguments(memory: number): string[] {
  const data = Math.max(4, Math.floor(memory * DATA_SHARE) - PROCESS);
  const buffer = Math.min(64, Math.max(2, Math.floor(memory / 8)));
  return [
    '--maxmemory',
    `${data}mb`,
    '--maxmemory-policy',
    'volatile-ttl',
    '--client-output-buffer-limit',
    `pubsub ${buffer}mb ${Math.ceil(buffer / 2)}mb 30`,
  ];
}

const getMemoryLimit = ({ spec }: KubeObject): string | undefined =>
  (spec as WorkloadSpec).template.spec.containers[0]?.resources?.limits?.memory;

/**
 * Returns the set of a store with the pod that it has, as long as that serves and has the size that is asked for. So an
 * upgrade restarts none. `seen` is the form of its pods in the status. Sets of the first version have no hash of their
 * template.
 */
function settleStoreSet(
  made: KubeObject,
  live: KubeObject | undefined,
  seen: string | undefined,
): KubeObject {
  const hashed = addTemplateHash(made);
  if (live === undefined || !isSetUp(live) || getMemoryLimit(live) !== getMemoryLimit(made))
    return hashed;
  const { annotations } = addTemplateHash(live).metadata;
  const known = {
    ...live,
    metadata: { ...live.metadata, annotations: { ...annotations, ...live.metadata.annotations } },
  };
  return settleTemplate(hashed, known, seen);
}
