import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runProcess } from '../../dev/commands.ts';
import type { Answer, Probe } from './host.ts';

/*
 * A node and hosts around it, each in a network namespace of its own: pods, one host of the world outside, and what
 * answers where clouds have their metadata. The node routes between them, as that of the native cluster does.
 */

export type Host = { name: string; addresses: [v4: string, v6: string] };
export type Lab = {
  /** Replaces the rules of the node. */
  apply(rules: string): Promise<void>;
  /** Returns who answers each question of a host. */
  ask(from: string, probes: Probe[]): Promise<Answer[]>;
  end(): Promise<void>;
};

/** The node's end of every wire. */
const GATE: [v4: string, v6: string] = ['10.99.0.1', 'fd99::1'];

/** The node routes, and refuses every packet at once: the kernel would leave most of many refusals out. */
const ROUTES: [setting: string, value: number][] = [
  ['ipv4/ip_forward', 1],
  ['ipv6/conf/all/forwarding', 1],
  ['ipv4/icmp_ratelimit', 0],
  ['ipv4/icmp_msgs_per_sec', 100_000],
  ['ipv4/icmp_msgs_burst', 100_000],
  ['ipv6/icmp/ratelimit', 0],
];

/** Builds the lab. The node has the name `node`, and answers at its own addresses like every host. */
export async function lab(node: Host, hosts: Host[], ports: readonly string[]): Promise<Lab> {
  const started = await Promise.all([node, ...hosts].map((host) => start(host, ports)));
  const [router, ...others] = started as [Started, ...Started[]];
  await inside(router, [
    'ip link set lo up',
    ...node.addresses.map((address) => `ip address add ${address} dev lo nodad`),
  ]);
  await inside(
    router,
    ROUTES.map(([setting, value]) => `echo ${value} > /proc/sys/net/${setting}`),
  );
  for (const [index, other] of others.entries()) await wire(router, other, `wire${index}`);
  const find = (name: string): Started => started.find(({ host }) => host.name === name) as Started;
  return {
    apply: (rules) =>
      runProcess('nsenter', [...netOf(router), 'nft', '-f', '-'], { input: rules }).then(
        () => undefined,
      ),
    ask: (from, probes) => find(from).ask(probes),
    async end() {
      for (const { process: child } of started) child.stdin?.end();
      await Promise.all(started.map(({ ended }) => ended));
    },
  };
}

type Started = {
  host: Host;
  process: ChildProcess;
  ask: (probes: Probe[]) => Promise<Answer[]>;
  ended: Promise<void>;
};

async function start(host: Host, ports: readonly string[]): Promise<Started> {
  const program = [process.execPath, join(import.meta.dirname, 'host.ts'), host.name, ...ports];
  const child = spawn('unshare', ['--net', '--', ...program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((done) => void child.once('close', () => done()));
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`The host ${host.name} ended.`);
    return value;
  };
  await next();
  const ask = async (probes: Probe[]): Promise<Answer[]> => {
    child.stdin.write(`${JSON.stringify(probes)}\n`);
    return (JSON.parse(await next()) as (string | null)[]).map((answer) => answer ?? undefined);
  };
  return { host, process: child, ask, ended };
}

const netOf = ({ process: { pid } }: Started): string[] => [`--net=/proc/${pid}/ns/net`];
const inside = (host: Started, lines: string[]): Promise<string> =>
  runProcess('nsenter', [...netOf(host), 'sh', '-e'], { input: lines.join('\n') });

/** Connects a host to the node, with a route to it there, and all its routes by way of the node. */
async function wire(router: Started, other: Started, name: string): Promise<void> {
  const [routerPid, otherPid] = [router, other].map((one) => one.process.pid);
  await runProcess(
    'ip',
    `link add ${name} netns ${routerPid} type veth peer name eth0 netns ${otherPid}`.split(' '),
  );
  const { addresses } = other.host;
  await inside(other, [
    'ip link set lo up',
    'ip link set eth0 up',
    ...addresses.map((address) => `ip address add ${address} dev eth0 nodad`),
    ...GATE.map((gate) => `ip route add ${gate} dev eth0`),
    ...GATE.map(
      (gate, index) => `ip route add default via ${gate} dev eth0 src ${addresses[index]}`,
    ),
  ]);
  await inside(router, [
    `ip link set ${name} up`,
    ...GATE.map((gate) => `ip address add ${gate} dev ${name} nodad`),
    ...addresses.map(
      (address, index) => `ip route add ${address} dev ${name} src ${router.host.addresses[index]}`,
    ),
  ]);
}
