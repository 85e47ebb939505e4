import { globSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { connect } from '../../../src/kube/client.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { packagesOf } from '../../python/tools.ts';
import type { SystemUnderTest } from '../cluster-global.ts';
import { kubectlFor } from '../kubectl.ts';
import { installDefinitionsIn } from './definitions.ts';
import { applyGateway, PARENT } from './gateway.ts';
import type { Entrance } from './way.ts';

/*
 * Contour and Envoy in a pod, with Contour's own permissions and Services. The programs lie in a folder of the node, so
 * that no image is built for them. The test plays the load balancer of a cloud, which gives the Service an address.
 */

const NAMESPACE = 'projectcontour';
/** The namespace of the proxy as settings.route.proxies has it. */
export const PROXIES = [
  { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } } },
];

/** Files of Contour's installation: its namespace and accounts, permissions, and the Service of Envoy. */
const MANIFESTS = [
  '00-common.yaml',
  '02-role-contour.yaml',
  '02-rbac.yaml',
  '02-service-envoy.yaml',
];

type Pods = { kube: Kube; entrance: Entrance; stop(): Promise<void> };

export async function installContour(system: SystemUnderTest): Promise<Pods> {
  const { contour } = await ensureTools(['contour']);
  const files = (name: string): string => join(dirname(contour), 'contour-files', name);
  const kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/routes',
    kubeconfig: system.kubeconfig,
  });
  const kubectl = kubectlFor(system);
  await installDefinitionsIn([files('examples/contour'), files('config/crd/experimental')], kube);
  for (const name of MANIFESTS) await kubectl('apply', '-f', join(files('examples/contour'), name));
  await applyGateway(kube, {
    controllerName: 'projectcontour.io/gateway-controller',
    ports: { http: 80, https: 443 },
  });
  const folder = await programsIn(contour);
  await kubectl.apply(settings);
  await kubectl.apply(pod(system.image, folder));
  const address = new URL(system.controlPlane).hostname;
  await kube.patchStatus(
    kinds.service,
    { namespace: NAMESPACE, name: 'envoy' },
    { loadBalancer: { ingress: [{ ip: address }] } },
  );
  await kubectl('wait', 'pod/contour', '-n', NAMESPACE, '--for=condition=Ready', '--timeout=90s');
  return {
    kube,
    entrance: { http: { host: address, port: 80 }, https: { host: address, port: 443 } },
    stop: async () => {
      await kubectl('delete', 'namespace', NAMESPACE, PARENT.namespace, '--wait=false');
      await kube.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Copies both programs to where a container that is not root may read them. */
async function programsIn(contour: string): Promise<string> {
  const packages = dirname(await packagesOf('test/routes/requirements.txt'));
  const [envoy] = globSync(join(packages, 'lib/python*/site-packages/envoy/_bin/**/envoy'));
  if (envoy === undefined) throw new Error(`The package of Envoy in ${packages} has no program.`);
  const folder = await mkdtemp(join(tmpdir(), 'gx-contour-'));
  await copyFile(contour, join(folder, 'contour'));
  await copyFile(envoy, join(folder, 'envoy'));
  await chmod(folder, 0o755);
  return folder;
}

const settings = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'contour', namespace: NAMESPACE },
  data: { 'contour.yaml': JSON.stringify({ gateway: { gatewayRef: PARENT } }) },
};

const XDS = ['--xds-address=127.0.0.1', '--xds-port=8001'];
const SERVE = [
  '--incluster',
  '--config-path=/settings/contour.yaml',
  '--disable-leader-election',
  '--insecure',
  ...XDS,
];
const ENVOY = [
  '-c',
  '/config/envoy.json',
  '--service-cluster',
  NAMESPACE,
  '--service-node',
  'envoy',
  '--concurrency',
  '1',
];

const pod = (image: string, folder: string): object => {
  const programs = { name: 'programs', mountPath: '/programs', readOnly: true };
  const config = { name: 'config', mountPath: '/config' };
  const container = (name: string, command: string[], more: object = {}): object => ({
    name,
    image,
    imagePullPolicy: 'Never',
    command: [`/programs/${command[0]}`, ...command.slice(1)],
    env: [{ name: 'CONTOUR_NAMESPACE', value: NAMESPACE }],
    volumeMounts: [programs, config],
    ...more,
  });
  const bootstrap = [
    'contour',
    'bootstrap',
    '/config/envoy.json',
    '--admin-address=/config/admin.sock',
    '--resources-dir=/config/resources',
    ...XDS,
  ];
  const status = [
    '--ingress-class-name=contour',
    '--envoy-service-name=envoy',
    `--envoy-service-namespace=${NAMESPACE}`,
  ];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'contour', namespace: NAMESPACE, labels: { app: 'envoy' } },
    spec: {
      serviceAccountName: 'contour',
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsUser: 65_534, runAsGroup: 65_534, runAsNonRoot: true },
      initContainers: [container('bootstrap', bootstrap)],
      containers: [
        container('contour', ['contour', 'serve', ...SERVE, ...status], {
          volumeMounts: [programs, { name: 'settings', mountPath: '/settings' }],
        }),
        container('envoy', ['envoy', ...ENVOY, '--log-level', 'warn'], {
          // A busy machine answers late, and one that is not ready gets no requests.
          readinessProbe: {
            httpGet: { path: '/ready', port: 8002 },
            periodSeconds: 1,
            timeoutSeconds: 5,
            failureThreshold: 10,
          },
        }),
      ],
      volumes: [
        { name: 'programs', hostPath: { path: folder, type: 'Directory' } },
        { name: 'settings', configMap: { name: 'contour' } },
        { name: 'config', emptyDir: {} },
      ],
    },
  };
};
