import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { ensureTools } from '../../dev/cluster/parts.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { freePort } from '../kit/agent-server.ts';
import { installDefinitionsIn } from '../kit/routes/definitions.ts';
import { kill, leashed } from '../kit/leash.ts';
import { until } from '../kit/until.ts';
import type { Entrance } from '../kit/routes/way.ts';
import { applyGateway, type GatewayPorts } from '../kit/routes/gateway.ts';
import { ENVOY_FLAGS, envoyProgram } from './envoy.ts';

const run = promisify(execFile);

/* Contour as a process beside an API server, with Envoy as its proxy. */

export type Controller = { entrance: Entrance; stop(): Promise<void> };

/** The difference between the port of a Gateway's listener and the one at which Contour has Envoy listen for it. */
const LISTENED = 8000;

/** Contour writes it into Ingresses as that of the load balancer. */
const ADDRESS = '192.0.2.80';

type Given = { kube: Kube; kubeconfig: string };

/** Starts Contour with the Gateway `public`, and waits until Envoy has its first configuration. */
export async function startContour({ kube, kubeconfig }: Given): Promise<Controller> {
  const { contour } = await ensureTools(['contour']);
  const files = (folder: string): string => join(dirname(contour), 'contour-files', folder);
  await installDefinitionsIn([files('examples/contour'), files('config/crd/experimental')], kube);
  const ports: GatewayPorts = {
    http: (await freePort()) - LISTENED,
    https: (await freePort()) - LISTENED,
  };
  await applyGateway(kube, { controllerName: 'projectcontour.io/gateway-controller', ports });
  const folder = await mkdtemp(join(tmpdir(), 'gx-contour-'));
  const [xds, stats] = [await freePort(), await freePort()];
  const config = join(folder, 'contour.yaml');
  await writeFile(
    config,
    JSON.stringify({ gateway: { gatewayRef: { name: 'public', namespace: 'gateways' } } }),
  );
  const served = leashed(
    contour,
    await contourFlags({ kubeconfig, config, xds, stats }),
    join(folder, 'contour.log'),
  );
  const bootstrap = join(folder, 'envoy.json');
  const admin = `--admin-address=${join(folder, 'admin.sock')}`;
  const resources = `--resources-dir=${join(folder, 'resources')}`;
  await run(contour, [
    'bootstrap',
    bootstrap,
    '--xds-address=127.0.0.1',
    `--xds-port=${xds}`,
    admin,
    resources,
  ]);
  const envoy = leashed(
    await envoyProgram(),
    ['-c', bootstrap, '--service-cluster', 'gx', '--service-node', 'gx', ...ENVOY_FLAGS],
    join(folder, 'envoy.log'),
  );
  await until(
    `Envoy is ready (logs in ${folder})`,
    async () => (await fetch(`http://127.0.0.1:${stats}/ready`)).ok,
    60,
  );
  const at = (port: number) => ({ host: '127.0.0.1', port: port + LISTENED });
  return {
    entrance: { http: at(ports.http), https: at(ports.https) },
    stop: async () => {
      await Promise.all([kill(served), kill(envoy)]);
      await rm(folder, { recursive: true });
    },
  };
}

async function contourFlags({
  kubeconfig,
  config,
  xds,
  stats,
}: Record<'kubeconfig' | 'config', string> & Record<'xds' | 'stats', number>): Promise<string[]> {
  const [health, metrics, debug] = [await freePort(), await freePort(), await freePort()];
  return [
    'serve',
    `--config-path=${config}`,
    `--kubeconfig=${kubeconfig}`,
    '--disable-leader-election',
    // Both are on this machine.
    '--insecure',
    '--xds-address=127.0.0.1',
    `--xds-port=${xds}`,
    '--stats-address=127.0.0.1',
    `--stats-port=${stats}`,
    `--health-port=${health}`,
    `--http-port=${metrics}`,
    `--debug-http-port=${debug}`,
    '--ingress-class-name=contour',
    `--ingress-status-address=${ADDRESS}`,
    ...['http', 'https'].flatMap((scheme) => `--envoy-service-${scheme}-address=127.0.0.1`),
  ];
}
