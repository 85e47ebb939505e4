import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { imageEnvironment } from '../../kit/image-environment.ts';
import { until } from '../../kit/until.ts';
import { LEASHED } from '../../kit/leash.ts';

/** The operator as in a pod: a process of its own, which can be queried and watched from outside. */
export type OperatorUnderTest = {
  /** The `performance.now()` in milliseconds at which the process was started. */
  startedAt: number;
  /** Returns the sum of a metric over the samples whose labels contain these words, or 0 if there is none. */
  metric(name: string, ...labels: string[]): Promise<number>;
  /** The highest memory in bytes so far. */
  peakMemory(): number;
  /** The milliseconds of CPU so far. */
  cpu(): number;
  /** The established connections to the port. */
  connectionsTo(port: number): number;
  /** Stops the process until it is let go on. The pause must be shorter than its Lease. */
  pause(): void;
  goOn(): void;
  stop(): Promise<void>;
};

/** The reconciles of a controller so far. */
export const reconciled = (operator: OperatorUnderTest, controller: string): Promise<number> =>
  operator.metric('controller_runtime_reconcile_total', `controller="${controller}"`);

export const USER_AGENT = 'gx-operator';

type Given = {
  kubeconfig: string;
  flags?: string[];
  /** It works on all namespaces, unless some are named. */
  namespaces?: string[];
  /** Settings besides those of every bench. */
  env?: Record<string, string>;
};

/** Starts a program of the platform as in a pod. Its log lies in a file of the machine's folder for such. */
function started(
  program: string,
  { kubeconfig, flags = [], namespaces = [], env }: Given,
): ChildProcess {
  const log = openSync(join(tmpdir(), `gx-bench-${program}.log`), 'w');
  return spawn(process.execPath, [...flags, ...LEASHED, 'src/main.ts', program], {
    stdio: ['pipe', log, log],
    env: {
      PATH: process.env.PATH,
      KUBECONFIG: kubeconfig,
      ...imageEnvironment('gx-platform'),
      GX_SERVER_HOST: '127.0.0.1',
      ...(namespaces.length > 0 && { GX_WATCH_NAMESPACES: namespaces.join(',') }),
      ...env,
    },
  });
}

export async function startOperatorProcess(given: Given): Promise<OperatorUnderTest> {
  const port = await freePort();
  const startedAt = performance.now();
  const child = started('operator', {
    ...given,
    env: { GX_HEALTH_PORT: String(port), ...SETTINGS, ...given.env },
  });
  const pid = child.pid as number;
  const metrics = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await until('the operator answers', async () => (await metrics()) !== '');
  return {
    startedAt,
    metric: async (name, ...labels) => sumOf(await metrics(), name, labels),
    peakMemory: () => peakMemoryOf(pid),
    cpu: () => cpuOf(pid),
    connectionsTo: (target) => connectionsOf(pid, target),
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    stop: () => stop(child),
  };
}

/** The bench's objects are computed with these settings, too. Only the part about waves starts a gateway. */
export const SETTINGS = {
  GX_PROFILE: 'small',
  GX_NAMESPACE: 'default',
  GX_LOG_LEVEL: 'warn',
  GX_IDENTITY: 'bench',
  GX_GATEWAY_SERVICE: 'gateway',
};

/** The gateway as in a pod: where agents report, where the operator reads, and the milliseconds of CPU so far. */
export type GatewayUnderTest = {
  url: string;
  address: string;
  reportsPort: number;
  cpu(): number;
  stop(): Promise<void>;
};

/** Starts a gateway at an address of this machine that an EndpointSlice may name: loopback ones it may not. */
export async function startGatewayProcess(kubeconfig: string): Promise<GatewayUnderTest> {
  const addresses = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  const address = addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  if (address === undefined) throw new Error('This machine has no IPv4 address besides loopback.');
  const [port, healthPort, reportsPort] = [await freePort(), await freePort(), await freePort()];
  const ports = {
    GX_SERVER_PORT: String(port),
    GX_HEALTH_PORT: String(healthPort),
    GX_REPORTS_PORT: String(reportsPort),
  };
  const env = { GX_SERVER_HOST: address, ...ports, GX_LOG_LEVEL: 'warn' };
  const child = started('gateway', { kubeconfig, env });
  await until(
    'the gateway knows all deployments',
    async () => (await fetch(`http://${address}:${healthPort}/readyz`)).ok,
  );
  return {
    url: `http://${address}:${port}`,
    address,
    reportsPort,
    cpu: () => cpuOf(child.pid as number),
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  // A paused process would not hear the signal.
  child.kill('SIGCONT');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function sumOf(text: string, name: string, labels: string[]): number {
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  const wanted = samples.filter((line) => labels.every((label) => line.includes(label)));
  return wanted
    .map((line) => Number(line.slice(line.lastIndexOf(' '))))
    .reduce((sum, value) => sum + value, 0);
}

function peakMemoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** Milliseconds of a tick of the processor's clock in /proc: a hundredth of a second on every Linux of today. */
const TICK = 10;

function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

const ESTABLISHED = '01';

function connectionsOf(pid: number, port: number): number {
  const folder = `/proc/${pid}/fd`;
  const sockets = new Set(
    readdirSync(folder).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`${folder}/${fd}`))?.[1] ?? [],
    ),
  );
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1),
  );
  return lines.filter((line) => {
    const [, , remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
    return remote.endsWith(`:${hex}`) && state === ESTABLISHED && sockets.has(inode);
  }).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // The connection was closed after the folder was read.
    return '';
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
