import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { packagesOf } from '../python/tools.ts';

/* A real proxy in front of a server: Envoy, as the controllers of the Gateway API configure it. */

/** Several of them run side by side on a machine, which hot restarts would take for one. */
export const ENVOY_FLAGS = ['--concurrency', '1', '--log-level', 'warn', '--disable-hot-restart'];

export type Envoy = {
  /** Its address with a route that has no time limit, as `timeouts.request: 0s` makes it. */
  unlimited: string;
  /** Its address with a route that says nothing about time. */
  usual: string;
  stop(): Promise<void>;
};

/** Starts Envoy in front of a port of this machine. */
export async function startEnvoy(agentPort: number): Promise<Envoy> {
  const [unlimited, usual, admin] = [await freePort(), await freePort(), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'gx-envoy-'));
  const file = join(folder, 'envoy.json');
  await writeFile(file, JSON.stringify(configuration(agentPort, { unlimited, usual, admin })));
  const child = spawn(await envoyProgram(), ['-c', file, ...ENVOY_FLAGS], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`Envoy ended: ${output}`);
    return fetch(`http://127.0.0.1:${admin}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await until('Envoy is ready', isReady);
  return {
    unlimited: `http://127.0.0.1:${unlimited}`,
    usual: `http://127.0.0.1:${usual}`,
    stop: async () => {
      child.kill();
      await closed;
      await rm(folder, { recursive: true });
    },
  };
}

/** Returns the program, which a package of PyPI holds. */
export const envoyProgram = async (): Promise<string> =>
  join(await packagesOf('test/routes/requirements.txt'), 'envoy');

type Ports = { unlimited: number; usual: number; admin: number };

function configuration(agentPort: number, { unlimited, usual, admin }: Ports): object {
  const endpoint = { address: at(agentPort) };
  return {
    admin: { address: at(admin) },
    static_resources: {
      listeners: [
        listener('unlimited', unlimited, { timeout: '0s' }),
        listener('usual', usual, {}),
      ],
      clusters: [
        {
          name: 'agent',
          connect_timeout: '5s',
          load_assignment: { cluster_name: 'agent', endpoints: [{ lb_endpoints: [{ endpoint }] }] },
        },
      ],
    },
  };
}

const at = (port: number): object => ({
  socket_address: { address: '127.0.0.1', port_value: port },
});

const typed = (name: string, fields: object): object => ({
  '@type': `type.googleapis.com/envoy.extensions.${name}`,
  ...fields,
});

function listener(name: string, port: number, limits: object): object {
  const routes = [{ match: { prefix: '/' }, route: { cluster: 'agent', ...limits } }];
  const router = {
    name: 'envoy.filters.http.router',
    typed_config: typed('filters.http.router.v3.Router', {}),
  };
  const manager = typed('filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: name,
    // It adds the address of its client to X-Forwarded-For.
    use_remote_address: true,
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    http_filters: [router],
  });
  const filters = [
    { name: 'envoy.filters.network.http_connection_manager', typed_config: manager },
  ];
  return { name, address: at(port), filter_chains: [{ filters }] };
}
