import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { freePort } from '../kit/agent-server.ts';
import { installDefinitionsIn } from '../kit/routes/definitions.ts';
import { kill, leashed } from '../kit/leash.ts';
import { until } from '../kit/until.ts';
import type { Controller } from './contour.ts';
import { ENVOY_FLAGS, envoyProgram } from './envoy.ts';
import { applyGateway, type GatewayPorts } from '../kit/routes/gateway.ts';

const run = promisify(execFile);

/*
 * Envoy Gateway as a process beside an API server. It makes the pods of its proxy there, which nobody runs: Envoy is
 * started as a process, too, with the arguments of those pods.
 */

const NAMESPACE = 'envoy-gateway-system';

/** It reads certificates from /certs, so it has a root of its own. */
const KUBECONFIG = '/kubeconfig';

/** Ports of Envoy for itself, some of which Envoy Gateway has on the same machine. */
const OWN_PORTS = [19_000, 19_001];

type Given = { kube: Kube; kubeconfig: string };

/** Starts Envoy Gateway with the Gateway `public`, and Envoy, and waits until both of its listeners answer. */
export async function startEnvoyGateway({ kube, kubeconfig }: Given): Promise<Controller> {
  const { 'envoy-gateway': program } = await ensureTools(['envoy-gateway']);
  const files = (folder: string): string => join(dirname(program), 'envoy-gateway-files', folder);
  await installDefinitionsIn(
    [files('charts/gateway-crds-helm/templates/generated'), files('config/crd/experimental')],
    kube,
  );
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE },
  });
  const folder = await mkdtemp(join(tmpdir(), 'gx-envoy-gateway-'));
  const env = {
    PATH: process.env.PATH,
    KUBECONFIG: kubeconfig,
    ENVOY_GATEWAY_NAMESPACE: NAMESPACE,
  };
  await run(program, ['certgen', '--disable-topology-injector'], { env });
  await copyFile(program, join(folder, 'envoy-gateway'));
  await copyFile(kubeconfig, join(folder, KUBECONFIG));
  await writeFile(join(folder, 'config.json'), JSON.stringify(configuration));
  await mkdir(join(folder, 'tmp'));
  await writeCertificates(kube, 'envoy-gateway', join(folder, 'certs'));
  // Without a home it ends at once, and says nothing.
  const variables = [
    `KUBECONFIG=${KUBECONFIG}`,
    `ENVOY_GATEWAY_NAMESPACE=${NAMESPACE}`,
    'HOME=/tmp',
  ];
  const command = ['chroot', folder, '/envoy-gateway', 'server', '--config-path=/config.json'];
  const served = leashed(
    '/usr/bin/env',
    [...variables, ...command],
    join(folder, 'envoy-gateway.log'),
  );
  const ports: GatewayPorts = { http: await freePort(), https: await freePort() };
  await applyGateway(kube, { controllerName: configuration.gateway.controllerName, ports });
  const envoy = leashed(
    await envoyProgram(),
    await proxyArguments(kube, folder),
    join(folder, 'envoy.log'),
  );
  const at = (port: number) => ({ host: '127.0.0.1', port });
  await until(
    `Envoy has its listeners (logs in ${folder})`,
    async () => (await fetch(`http://127.0.0.1:${ports.http}`)).status === 404,
    60,
  );
  return {
    entrance: { http: at(ports.http), https: at(ports.https) },
    stop: async () => {
      await Promise.all([kill(served), kill(envoy)]);
      await rm(folder, { recursive: true });
    },
  };
}

const configuration = {
  apiVersion: 'gateway.envoyproxy.io/v1alpha1',
  kind: 'EnvoyGateway',
  gateway: { controllerName: 'gateway.envoyproxy.io/gatewayclass-controller' },
  provider: {
    type: 'Kubernetes',
    kubernetes: { leaderElection: { disable: true }, proxyTopologyInjector: { disabled: true } },
  },
};

async function writeCertificates(kube: Kube, name: string, folder: string): Promise<void> {
  const { data = {} } = await kube.get(kinds.secret, { namespace: NAMESPACE, name });
  await mkdir(folder);
  await Promise.all(
    Object.entries(data).map(([file, text]) =>
      writeFile(join(folder, file), Buffer.from(text, 'base64')),
    ),
  );
}

type Workload = KubeObject & {
  spec: { template: { spec: { containers: { name: string; args?: string[] }[] } } };
};

/** Returns the arguments that Envoy Gateway gives to the pods of its proxy, with the places of this machine. */
async function proxyArguments(kube: Kube, folder: string): Promise<string[]> {
  const found = await until(
    'Envoy Gateway makes its proxy',
    async () => (await kube.listAll(kinds.workload, { namespace: NAMESPACE }))[0],
    60,
  );
  const { containers } = (found as Workload).spec.template.spec;
  const given = containers.find(({ name }) => name === 'envoy')?.args ?? [];
  const [certificates, tell] = [join(folder, 'proxy'), join(folder, 'sds')];
  await writeCertificates(kube, 'envoy', certificates);
  await mkdir(tell);
  const { data = {} } = await kube.get(kinds.configMap, {
    namespace: NAMESPACE,
    name: found.metadata.name,
  });
  const placed = (text: string): string =>
    text.replaceAll('/certs/', `${certificates}/`).replaceAll('/sds/', `${tell}/`);
  await Promise.all(
    Object.entries(data).map(([file, text]) => writeFile(join(tell, file), placed(text))),
  );
  const free = await Promise.all(OWN_PORTS.map(async (port) => [port, await freePort()] as const));
  const moved = (text: string): string =>
    free.reduce(
      (all, [from, to]) => all.replaceAll(`port_value: ${from}`, `port_value: ${to}`),
      text,
    );
  const here = (text: string): string =>
    moved(placed(text)).replace(/address: envoy-gateway\.\S+/, 'address: 127.0.0.1');
  return [...given.map(here), ...ENVOY_FLAGS.filter((flag) => !given.includes(flag))];
}
